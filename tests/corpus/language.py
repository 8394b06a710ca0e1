"""Reads the native litmus language, for the checks of the corpus only.

This is a second, small reader beside the project's own: it accepts what the corpus uses and no more, and it gives no
good error messages. `oracle.py` decides the tests that it reads.
"""
import re

MASK = (1 << 64) - 1

TOKEN = re.compile(r"""
    (?P<skip>\s+ | //[^\n]* | /\*.*?\*/ | \(\*.*?\*\))
  | (?P<string>"(?:[^"\\]|\\.)*")
  | (?P<num>0[xX][0-9a-fA-F]+|[0-9]+)
  | (?P<name>[A-Za-z_][A-Za-z_0-9.]*)
  | (?P<op>/\\|\\/|<<|>>|<=|>=|==|!=|&&|\|\||[-+*&|^~!<>=(){}\[\];:,@])
""", re.X | re.S)


class Bad(Exception):
    pass


def tokens(text):
    out, at = [], 0
    while at < len(text):
        m = TOKEN.match(text, at)
        if not m:
            raise Bad("cannot read at: %r" % text[at:at + 30])
        at = m.end()
        if m.lastgroup != "skip":
            out.append((m.lastgroup, m.group()))
    out.append(("end", ""))
    return out


BINARY = [["||"], ["&&"], ["|"], ["^"], ["&"], ["==", "!="], ["<", "<=", ">", ">="], ["<<", ">>"], ["+", "-"], ["*"]]


def evaluate(e, regs):
    """The value of an expression; registers not yet written are 0."""
    kind = e[0]
    if kind == "int":
        return e[1]
    if kind == "reg":
        return regs.get(e[1], 0)
    if kind == "un":
        a = evaluate(e[2], regs)
        return {"!": int(a == 0), "~": ~a & MASK, "-": -a & MASK}[e[1]]
    a, b = evaluate(e[2], regs), evaluate(e[3], regs)
    op = e[1]
    if op == "&&":
        return int(bool(a) and bool(b))
    if op == "||":
        return int(bool(a) or bool(b))
    if op in ("==", "!=", "<", "<=", ">", ">="):
        return int(compare(op, a, b))
    return {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "&": lambda: a & b, "|": lambda: a | b,
            "^": lambda: a ^ b, "<<": lambda: a << (b & 63), ">>": lambda: a >> (b & 63)}[op]() & MASK


def compare(op, a, b):
    return {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]


class Test:
    """arch, name, docs, nodes, locs {name: (node, init)}, shared {name: init}, locks {name: (kind, node)},
    sc {name: init}, threads [(node, block)], quantifier, cond, shown (what the states show)."""


class Reader:
    def __init__(self, text):
        header, _, rest = text.lstrip().partition("\n")
        words = header.split()
        self.test = t = Test()
        t.arch, t.name = words[0], words[1]
        t.nodes, t.locs, t.shared, t.locks, t.sc, t.threads, t.docs = 0, {}, {}, {}, {}, [], []
        self.toks, self.at = tokens(rest), 0

    def peek(self, k=0):
        return self.toks[min(self.at + k, len(self.toks) - 1)][1]

    def next(self):
        self.at += 1
        return self.toks[self.at - 1][1]

    def eat(self, what):
        got = self.next()
        if got != what:
            raise Bad("expected %s, found %s (token %d)" % (what, got, self.at))

    def maybe(self, what):
        if self.peek() == what:
            self.at += 1
            return True
        return False

    def number(self):
        neg = self.maybe("-")
        v = int(self.next(), 0)
        return -v & MASK if neg else v & MASK

    # -- header
    def read(self):
        t = self.test
        while self.toks[self.at][0] == "string":
            t.docs.append(self.next()[1:-1])
        self.eat("{")
        while not self.maybe("}"):
            self.declaration()
        while re.fullmatch(r"P[0-9]+", self.peek()):
            self.next()
            self.eat("on")
            node = self.number()
            self.see_node(node)
            self.regs = set()
            t.threads.append((node, self.block()))
        t.shown = []
        if self.maybe("locations"):
            self.eat("[")
            while not self.maybe("]"):
                t.shown.append(self.thing())
                self.maybe(";")
        t.quantifier = "~exists" if self.maybe("~") else ""
        t.quantifier = t.quantifier or self.peek()
        self.next()
        t.cond = self.disjunction()
        t.shown += [x for x in things(t.cond) if x not in t.shown]
        if self.peek():
            raise Bad("more after the condition: " + self.peek())
        return t

    def see_node(self, n):
        self.test.nodes = max(self.test.nodes, n + 1)

    def declaration(self):
        t, word = self.test, self.next()
        if word == "nodes":
            t.nodes = max(t.nodes, self.number())
        elif word == "node":
            n = self.number()
            self.see_node(n)
            self.eat(":")
            while True:
                name = self.next()
                t.locs[name] = (n, self.number() if self.maybe("=") else 0)
                if not self.maybe(","):
                    break
        elif word == "shared":
            name = self.next()
            t.shared[name] = self.number() if self.maybe("=") else 0
        elif word in ("wlock", "slock", "nlock", "sc"):
            name = self.next()
            self.eat("on")
            n = self.number()
            self.see_node(n)
            if word == "sc":
                t.sc[name] = self.number() if self.maybe("=") else 0
            else:
                t.locks[name] = (word, n)
        else:
            raise Bad("declaration " + word)
        self.eat(";")

    # -- statements
    def block(self):
        self.eat("{")
        out = []
        while not self.maybe("}"):
            out.append(self.statement())
        return out

    def kind_of(self, name):
        t = self.test
        return "loc" if name in t.locs else "shared" if name in t.shared else "sc" if name in t.sc else \
            "lock" if name in t.locks else "reg"

    def arguments(self):
        """Comma separated: expressions, names, node sets."""
        out = []
        self.eat("(")
        while not self.maybe(")"):
            if self.peek() == "{":
                self.next()
                nodes = []
                while not self.maybe("}"):
                    nodes.append(self.number())
                    self.maybe(",")
                out.append(("nodes", nodes))
            elif self.kind_of(self.peek()) != "reg":
                out.append((self.kind_of(self.peek()), self.next()))
            else:
                out.append(self.expr())
            self.maybe(",")
        return out

    def statement(self):
        word = self.next()
        if word == "if":
            self.eat("(")
            e = self.expr()
            self.eat(")")
            body = self.block()
            return ("if", e, body, self.block() if self.maybe("else") else [])
        if word == "do":
            body = self.block()
            self.eat("until")
            self.eat("(")
            e = self.expr()
            self.eat(")")
            self.eat(";")
            return ("do", body, e)
        if word == "repeat":
            self.eat("(")
            n = self.number()
            self.eat(")")
            return ("repeat", n, self.block())
        if word == "await":
            self.eat("(")
            name = self.next()
            op = self.next()
            e = self.expr()
            self.eat(")")
            self.eat(";")
            return ("await", (self.kind_of(name), name), op, e)
        if self.peek() == "(":
            args = self.arguments()
            self.eat(";")
            return self.call(None, word, args)
        self.eat("=")
        if self.kind_of(word) != "reg":
            e = self.expr()
            self.eat(";")
            return ("store", (self.kind_of(word), word), e)
        self.regs.add(word)
        if self.peek(1) == "(" and self.toks[self.at][0] == "name":
            method = self.next()
            args = self.arguments()
            self.eat(";")
            return self.call(word, method, args)
        if self.kind_of(self.peek()) != "reg":
            name = self.next()
            self.eat(";")
            return ("load", word, (self.kind_of(name), name))
        e = self.expr()
        self.eat(";")
        return ("assign", word, e)

    def call(self, reg, method, args):
        def wid(i):
            return args[i][1] if len(args) > i else None
        if method in ("cas", "faa", "xchg"):
            return (method, reg, args[0][1], *args[1:])
        if method in ("mfence",):
            return (method,)
        if method in ("put", "get"):
            return (method, args[0], args[1], wid(2))
        if method == "rcas":
            return (method, args[0], args[1], args[2], args[3], wid(4))
        if method == "rfaa":
            return (method, args[0], args[1], args[2], wid(3))
        if method in ("rfence", "poll"):
            self.see_node(args[0][1])
            return (method, args[0][1])
        if method in ("wait", "sv_wait"):
            return (method, args[0][1])
        if method == "bcast":
            for n in args[1][1]:
                self.see_node(n)
            return (method, args[0][1], args[1][1], wid(2))
        if method == "gfence":
            return (method, args[0][1] if args else None)
        if method in ("acquire", "release"):
            return (method, args[0][1])
        if method == "assume":
            return (method, args[0])
        if method in ("sc_read", "sc_write", "sc_cas", "sc_faa"):
            return (method, reg, args[0][1], *args[1:])
        raise Bad("method " + method)

    def expr(self, level=0):
        if level == len(BINARY):
            return self.unary()
        a = self.expr(level + 1)
        while self.peek() in BINARY[level]:
            op = self.next()
            a = ("bin", op, a, self.expr(level + 1))
        return a

    def unary(self):
        if self.peek() in ("!", "~", "-"):
            op = self.next()
            return ("un", op, self.unary())
        if self.maybe("("):
            e = self.expr()
            self.eat(")")
            return e
        kind, word = self.toks[self.at]
        self.next()
        if kind == "num":
            return ("int", int(word, 0) & MASK)
        if kind != "name" or self.kind_of(word) != "reg":
            raise Bad("in an expression: " + word)
        return ("reg", word)

    # -- condition
    def disjunction(self):
        c = self.conjunction()
        while self.maybe("\\/"):
            c = ("or", c, self.conjunction())
        return c

    def conjunction(self):
        c = self.atom()
        while self.maybe("/\\"):
            c = ("and", c, self.atom())
        return c

    def atom(self):
        if self.maybe("~"):
            return ("not", self.atom())
        if self.maybe("("):
            c = self.disjunction()
            self.eat(")")
            return c
        if self.maybe("true"):
            return ("true",)
        if self.maybe("false"):
            return ("not", ("true",))
        what = self.thing()
        if not self.maybe("=="):
            self.eat("=")
        return ("eq", what, self.number())

    def thing(self):
        """0:r0, x, s@1"""
        kind, word = self.toks[self.at]
        self.next()
        if kind == "num":
            self.eat(":")
            return ("reg", int(word), self.next())
        if self.maybe("@"):
            return ("loc", (word, self.number()))
        return ("loc", word)


def holds(cond, regs, memory):
    """Is the condition true of final registers [{name: value}] and memory {location: value}?"""
    kind = cond[0]
    if kind == "true":
        return True
    if kind == "not":
        return not holds(cond[1], regs, memory)
    if kind == "and":
        return holds(cond[1], regs, memory) and holds(cond[2], regs, memory)
    if kind == "or":
        return holds(cond[1], regs, memory) or holds(cond[2], regs, memory)
    return value_of(cond[1], regs, memory) == cond[2]


def value_of(thing, regs, memory):
    return regs[thing[1]].get(thing[2], 0) if thing[0] == "reg" else memory[thing[1]]


def things(cond):
    """What the condition names, in order of appearance."""
    if cond[0] == "eq":
        return [cond[1]]
    out = []
    for c in cond[1:]:
        out += [x for x in things(c) if x not in out]
    return out


def read_file(path):
    with open(path, encoding="utf-8") as f:
        return Reader(f.read()).read()
