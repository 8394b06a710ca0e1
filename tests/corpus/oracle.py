#!/usr/bin/env python3
"""A third opinion on the tests of the corpus: semantics sections 3 (RDMA-TSO) and 4 to 8 (RDMA-WAIT and the libraries)
transcribed as literally as can be, with no thought of speed. It shares nothing with the engines.

`decide(test)` gives the set of outcomes; a changed stamp-order table may be passed, to ask which test depends on which cell.
"""
from itertools import permutations

import language
from language import MASK, evaluate

STAMPS = ["aCR", "aCW", "aCAS", "aMF", "aWT", "aNLR", "aNRW", "aNAR", "aNRR", "aNLW", "aRF", "aGF"]
STO_TEXT = """
 A |+ + + + + + + + + + + +
 B |. + + + . + + + + + + +
 C |+ + + + + + + + + + + +
 D |+ + + + + + + + + + + +
 E |+ + + + + + + + + + + +
 F |. . . . . s s s s s s s
 G |. . . . . . s s s s . s
 H |. . . . . . s s s s s s
 I |. . . . . . . . . s s s
 J |. . . . . . . . . s . s
 K |. . . . . s s s s s s s
 L |+ + + + + + + + + + + +
"""
TYPES = ["lR", "lW", "CAS", "F", "P", "nlR", "nrW", "naR", "naW", "nrR", "nlW", "nF"]
IPPO_TEXT = """
 A |+ + + + + + + + + + + +
 B |+ + + + + + + + + + + +
 C |+ + + + + + + + + + + +
 D |+ + + + + + + + + + + +
 E |+ + + + + + + + + + + +
 F |. . . . . s s s s s s s
 G |. . . . . . s s s s s s
 H |. . . . . . s s s s s s
 I |. . . . . . s s s s s s
 J |. . . . . . . . . . s s
 K |. . . . . . . . . . s s
 L |. . . . . s s s s s s s
"""
OPPO_LESS = [("lW", "lR"), ("lW", "P"), ("nrW", "nF"), ("naW", "nF"), ("nlW", "nF"), ("naW", "nlW")]
INST_TSO = set(TYPES) - {"lW", "nrW", "naW", "nlW"}
INST_WAIT = set(STAMPS) - {"aCW", "aNRW", "aNLW"}


def table(text, names):
    out = {}
    for a, line in zip(names, text.strip().splitlines()):
        for b, cell in zip(names, line.split("|")[1].split()):
            out[a, b] = cell
    return out


STO = table(STO_TEXT, STAMPS)
IPPO = table(IPPO_TEXT, TYPES)


class Sub:
    """One subevent: stamp (or event type), node, location, value read, value written, library."""
    __slots__ = ("stamp", "node", "loc", "rv", "wv", "lib", "thread", "call", "id")

    def __init__(self, stamp, node=None, loc=None, rv=None, wv=None, lib="wait"):
        self.stamp, self.node, self.loc, self.rv, self.wv, self.lib = stamp, node, loc, rv, wv, lib

    def copy(self):
        s = Sub(self.stamp, self.node, self.loc, self.rv, self.wv, self.lib)
        return s


class Call:
    __slots__ = ("method", "subs", "wid", "lock", "what")

    def __init__(self, method, subs, wid=None, lock=None, what=None):
        self.method, self.subs, self.wid, self.lock, self.what = method, subs, wid, lock, what


class TooBig(Exception):
    pass


class Threads:
    """Enumerates what one thread may do, its reads returning any value of their location's domain."""

    def __init__(self, test, domain, seen):
        self.test, self.domain, self.tso, self.seen = test, domain, test.arch == "RDMA_TSO", seen

    def note(self, call):
        """Values written, also by behaviours that then come to wait for something that is not known to come yet."""
        for s in call.subs:
            if s.wv is not None:
                self.seen[s.loc].add(s.wv)

    def values(self, loc):
        return sorted(self.domain[loc])

    def run(self, t):
        node, block = self.test.threads[t]
        self.node = node
        yield from self.step(tuple(block), {}, [])

    def place(self, ref):
        """A location reference; a shared variable is its own node's copy."""
        return (ref[1], self.node) if ref[0] == "shared" else ref[1]

    def step(self, todo, regs, calls):
        if not todo:
            yield calls, regs
            return
        s, rest = todo[0], todo[1:]
        kind = s[0]
        if kind == "assign":
            yield from self.step(rest, {**regs, s[1]: evaluate(s[2], regs)}, calls)
        elif kind == "if":
            yield from self.step(tuple(s[2] if evaluate(s[1], regs) else s[3]) + rest, regs, calls)
        elif kind == "repeat":
            yield from self.step(tuple(s[2]) * s[1] + rest, regs, calls)
        elif kind == "do":
            yield from self.step(tuple(s[1]) + (("assume", s[2]),) + rest, regs, calls)
        elif kind == "assume":
            if evaluate(s[1], regs):
                yield from self.step(rest, regs, calls)
        else:
            for call, reg, value in self.call(s, regs):
                self.note(call)
                r = regs if reg is None else {**regs, reg: value}
                yield from self.step(rest, r, calls + [call])

    def call(self, s, regs):
        kind = s[0]

        def val(e):
            return evaluate(e, regs)
        tso = self.tso
        if kind == "load":
            loc = self.place(s[2])
            for v in self.values(loc):
                yield Call("read", [Sub("lR" if tso else "aCR", None, loc, v, None, s[2][0])]), s[1], v
        elif kind == "await":
            loc = self.place(s[1])
            for v in self.values(loc):
                if language.compare(s[2], v, val(s[3])):
                    yield Call("read", [Sub("lR" if tso else "aCR", None, loc, v, None, s[1][0])]), None, 0
        elif kind == "store":
            loc = self.place(s[1])
            yield Call("write", [Sub("lW" if tso else "aCW", None, loc, None, val(s[2]), s[1][0])]), None, 0
        elif kind in ("cas", "faa", "xchg"):
            for v in self.values(s[2]):
                if kind == "cas" and v != val(s[3]):
                    subs = [Sub("F"), Sub("lR", None, s[2], v)] if tso else [Sub("aMF"), Sub("aCR", None, s[2], v)]
                else:
                    new = val(s[4]) if kind == "cas" else val(s[3]) if kind == "xchg" else (v + val(s[3])) & MASK
                    subs = [Sub("CAS" if tso else "aCAS", None, s[2], v, new)]
                yield Call(kind, subs), s[1], v
        elif kind == "mfence":
            yield Call(kind, [Sub("F" if tso else "aMF")]), None, 0
        elif kind == "put":
            y = s[1][1]
            n = self.test.locs[y][0]
            src = s[2][1] if s[2][0] == "loc" else None
            for v in self.values(src) if src else [val(s[2])]:
                read = Sub("nlR" if tso else "aNLR", n, src, v if src else None)
                yield Call(kind, [read, Sub("nrW" if tso else "aNRW", n, y, None, v)], s[3]), None, 0
        elif kind == "get":
            x, y = s[1][1], s[2][1]
            n = self.test.locs[y][0]
            for v in self.values(y):
                subs = [Sub("nrR" if tso else "aNRR", n, y, v), Sub("nlW" if tso else "aNLW", n, x, None, v)]
                yield Call(kind, subs, s[3]), None, 0
        elif kind in ("rcas", "rfaa"):
            x, y = s[1][1], s[2][1]
            n = self.test.locs[y][0]
            for v in self.values(y):
                subs = [Sub("naR" if tso else "aNAR", n, y, v)]
                if kind == "rfaa" or v == val(s[3]):
                    new = (v + val(s[3])) & MASK if kind == "rfaa" else val(s[4])
                    subs.append(Sub("naW" if tso else "aNRW", n, y, None, new))
                subs.append(Sub("nlW" if tso else "aNLW", n, x, None, v))
                yield Call(kind, subs, s[-1]), None, 0
        elif kind == "rfence":
            yield Call(kind, [Sub("nF" if tso else "aRF", s[1])]), None, 0
        elif kind == "poll":
            yield Call(kind, [Sub("P", s[1])]), None, 0
        elif kind == "wait":
            yield Call(kind, [Sub("aWT")], s[1]), None, 0
        elif kind == "sv_wait":
            yield Call(kind, [Sub("aWT", lib="shared")], s[1]), None, 0
        elif kind == "bcast":
            own = (s[1], self.node)
            # Each target's local read reads by itself.
            def each(nodes):
                if not nodes:
                    yield []
                    return
                for v in self.values(own):
                    for more in each(nodes[1:]):
                        yield [Sub("aNLR", nodes[0], own, v, None, "shared"),
                               Sub("aNRW", nodes[0], (s[1], nodes[0]), None, v, "shared")] + more
            for subs in each(s[2]):
                yield Call(kind, subs, s[3]), None, 0
        elif kind == "gfence":
            nodes = range(self.test.nodes) if s[1] is None else s[1]
            yield Call(kind, [Sub("aGF", n, lib="shared") for n in nodes]), None, 0
        elif kind == "acquire":
            yield Call(kind, [Sub("aMF", lib="lock")], lock=s[1]), None, 0
        elif kind == "release":
            what, n = self.test.locks[s[1]]
            subs = {"wlock": lambda: [Sub("aCW", lib="lock")],
                    "slock": lambda: [Sub("aGF", m, lib="lock") for m in range(self.test.nodes)],
                    "nlock": lambda: [Sub("aRF", n, lib="lock"), Sub("aNRW", n, lib="lock")]}[what]()
            yield Call(kind, subs, lock=s[1]), None, 0
        elif kind in ("sc_read", "sc_write", "sc_cas", "sc_faa"):
            if kind == "sc_write":
                yield Call(kind, [Sub("aMF", None, s[2], None, val(s[3]), "sc")]), None, 0
                return
            for v in self.values(s[2]):
                new = None
                if kind == "sc_faa":
                    new = (v + val(s[3])) & MASK
                elif kind == "sc_cas" and v == val(s[3]):
                    new = val(s[4])
                yield Call(kind, [Sub("aMF", None, s[2], v, new, "sc")]), s[1], v
        else:
            raise language.Bad("statement " + kind)


def initial(test):
    memory = {x: v for x, (_, v) in test.locs.items()}
    memory.update({x: v for x, v in test.sc.items()})
    memory.update({(s, n): v for s, v in test.shared.items() for n in range(test.nodes)})
    return memory


def operations(block):
    """At least as many as the statements that are performed."""
    return sum(s[1] * operations(s[2]) if s[0] == "repeat" else
               1 + sum(operations(p) for p in s if isinstance(p, list) and s[0] in ("if", "do")) for s in block)


def all_traces(test):
    """Every thread's possible behaviours, the domains of values being grown until they hold."""
    memory = initial(test)
    domain = {x: {v} for x, v in memory.items()}
    rounds, longest = 0, sum(operations(b) for _, b in test.threads)
    while True:
        per_thread, before = [], {x: len(d) for x, d in domain.items()}
        seen = {x: set(d) for x, d in domain.items()}
        for t in range(len(test.threads)):
            traces = list(Threads(test, domain, seen).run(t))
            if len(traces) > 200000:
                raise TooBig(test.name)
            per_thread.append(traces)
        domain = seen
        rounds += 1
        # A value is computed from values through a chain of operations, each of them performed once.
        if rounds > longest or before == {x: len(d) for x, d in domain.items()}:
            return per_thread, memory


def combinations(per_thread, memory):
    """One behaviour per thread, such that every value read is the initial one or written by somebody."""
    def supported(chosen):
        written = {(x, v) for x, v in memory.items()}
        needed = set()
        for calls, _ in chosen:
            for c in calls:
                for s in c.subs:
                    if s.wv is not None:
                        written.add((s.loc, s.wv))
                    if s.rv is not None:
                        needed.add((s.loc, s.rv))
        return needed <= written

    def go(i, chosen):
        if i == len(per_thread):
            if supported(chosen):
                yield chosen
            return
        for trace in per_thread[i]:
            yield from go(i + 1, chosen + [trace])
    yield from go(0, [])


def close(adj):
    r = list(adj)
    n = len(r)
    for k in range(n):
        bit, rk = 1 << k, r[k]
        for i in range(n):
            if r[i] & bit:
                r[i] |= r[k]
    return r


def cyclic(closed):
    return any(closed[i] >> i & 1 for i in range(len(closed)))


class Search:
    """All consistent executions for one choice of the threads' behaviours; calls `found(memory)` for each final memory."""

    def __init__(self, test, chosen, memory, sto, budget):
        self.tso = test.arch == "RDMA_TSO"
        self.test, self.sto, self.budget = test, sto, budget
        self.inst = INST_TSO if self.tso else INST_WAIT
        self.calls, self.subs = [], []
        for t, (calls, _) in enumerate(chosen):
            for i, c in enumerate(calls):
                mine = []
                for s in c.subs:
                    s = s.copy()
                    s.thread, s.call, s.id = t, len(self.calls), len(self.subs)
                    self.subs.append(s)
                    mine.append(s)
                self.calls.append((t, c, mine))
        self.init = {}
        for x, v in memory.items():
            s = Sub("init", None, x, None, v)
            s.thread, s.call, s.id = -1, -1, len(self.subs)
            self.subs.append(s)
            self.init[x] = s
        self.n = len(self.subs)
        self.ib, self.hb = [0] * self.n, [0] * self.n
        self.possible = self.fixed_edges()

    def po(self, a, b):
        return a.thread == b.thread and a.thread >= 0 and a.call < b.call

    def edge(self, rel, a, b):
        rel[a.id] |= 1 << b.id

    def both(self, a, b, ib=True, hb=True):
        if ib:
            self.edge(self.ib, a, b)
        if hb:
            self.edge(self.hb, a, b)

    def in_ib(self, *subs):
        """The wait library's ib is a relation on the wait library's events."""
        return self.tso or all(s.lib in ("wait", "loc") for s in subs)

    def ordered(self, tab, a, b):
        cell = tab[a.stamp, b.stamp]
        return cell == "+" or (cell == "s" and a.node == b.node)

    def fixed_edges(self):
        real = [s for s in self.subs if s.thread >= 0]
        extra = {("aCW", "aCR"): "+", ("aCW", "aWT"): "+", ("aNRW", "aRF"): "s", ("aNLW", "aRF"): "s"}
        for a in real:
            for b in real:
                if not self.po(a, b):
                    continue
                if self.tso:
                    if self.ordered(IPPO, a, b):
                        self.edge(self.ib, a, b)
                        if (a.stamp, b.stamp) not in OPPO_LESS:
                            self.edge(self.hb, a, b)
                elif self.ordered(self.sto, a, b):
                    self.both(a, b, ib=self.in_ib(a, b))
                elif (a.stamp, b.stamp) in extra and self.in_ib(a, b) and self.ordered(extra, a, b):
                    self.edge(self.ib, a, b)
        if self.tso:
            for t, c, subs in self.calls:  # program order inside one operation
                for i, a in enumerate(subs):
                    for b in subs[i + 1:]:
                        if self.ordered(IPPO, a, b):
                            self.edge(self.ib, a, b)
                            if (a.stamp, b.stamp) not in OPPO_LESS:
                                self.edge(self.hb, a, b)
            return self.polls()
        self.inside()
        self.waits()
        return True

    def inside(self):
        for t, c, subs in self.calls:
            st = {s.stamp: s for s in subs}
            pairs = []
            if c.method == "cas" and len(subs) == 2:
                pairs = [("aMF", "aCR")]
            elif c.method == "put":
                pairs = [("aNLR", "aNRW")]
            elif c.method == "get":
                pairs = [("aNRR", "aNLW")]
            elif c.method in ("rcas", "rfaa"):
                pairs = [("aNAR", "aNLW"), ("aNAR", "aNRW")]
            elif c.method == "release" and self.test.locks[c.lock][0] == "nlock":
                pairs = [("aRF", "aNRW")]
            elif c.method == "bcast":
                for i in range(0, len(subs), 2):
                    self.both(subs[i], subs[i + 1], ib=False)
            for a, b in pairs:
                if a in st and b in st:
                    self.both(st[a], st[b], ib=self.in_ib(st[a]))

    def waits(self):
        for i, (t, c, subs) in enumerate(self.calls):
            for t2, w, wsubs in self.calls[i + 1:]:
                if t2 != t or c.wid is None or w.wid != c.wid:
                    continue
                if w.method == "wait" and c.method in ("put", "get", "rcas", "rfaa"):
                    for s in subs:
                        if s.stamp == "aNLW":
                            self.both(s, wsubs[0])
                        elif s.stamp == "aNRW":
                            self.edge(self.ib, s, wsubs[0])
                elif w.method == "sv_wait" and c.method == "bcast":
                    for s in subs:
                        if s.stamp == "aNLR":
                            self.both(s, wsubs[0], ib=False)

    def polls(self):
        """pf: the k-th poll of a queue pair takes its k-th completion. False if there is none."""
        for t in range(len(self.test.threads)):
            for n in range(self.test.nodes):
                ends, k = [], 0
                for t2, c, subs in self.calls:
                    if t2 != t or not subs or subs[-1].node != n:
                        continue
                    if c.method == "poll":
                        if k == len(ends):
                            return False
                        self.edge(self.ib, ends[k], subs[0])
                        if ends[k].stamp == "nlW":
                            self.edge(self.hb, ends[k], subs[0])
                        k += 1
                    elif c.method in ("put", "get", "rcas", "rfaa"):
                        ends.append(subs[-1])
        return True

    # -- the choices
    def ok(self):
        self.budget[0] -= 1
        if self.budget[0] < 0:
            raise TooBig(self.test.name)
        ib = close(self.ib)
        if cyclic(ib):
            return False
        hb = list(self.hb)
        for s in self.subs:
            if s.stamp in self.inst:
                hb[s.id] |= ib[s.id]
        self.closed = close(hb)
        return not cyclic(self.closed)

    def run(self, found, skip):
        if not self.possible or not self.ok():
            return
        self.found, self.skip = found, skip
        self.rf = {}
        self.reads = [s for s in self.subs if s.rv is not None]
        self.writes = {}
        for s in self.subs:
            if s.wv is not None and s.thread >= 0:
                self.writes.setdefault(s.loc, []).append(s)
        self.choose_rf(0)

    def saved(self):
        return list(self.ib), list(self.hb)

    def restore(self, saved):
        self.ib, self.hb = list(saved[0]), list(saved[1])

    def internal(self, w, r):
        """Store and load of one thread: forwarding through the store buffer. (sv has no ib that would exclude a load before its store.)"""
        return w.thread == r.thread and (r.lib != "shared" or self.po(w, r)) and w.stamp in ("lW", "aCW") and r.stamp in ("lR", "aCR")

    def choose_rf(self, i):
        if i == len(self.reads):
            self.choose_lo(list(self.test.locks))
            return
        r = self.reads[i]
        sources = [w for w in self.writes.get(r.loc, []) if w.wv == r.rv and w is not r]
        if self.init[r.loc].wv == r.rv:
            sources.append(self.init[r.loc])
        saved = self.saved()
        for w in sources:
            self.rf[r.id] = w
            if w.thread >= 0:
                self.both(w, r, ib=self.in_ib(w, r), hb=not self.internal(w, r))
            if self.ok():
                self.choose_rf(i + 1)
            self.restore(saved)

    def choose_lo(self, locks):
        if not locks:
            self.choose_mo(list(self.writes), {})
            return
        lock = locks[0]
        pairs = []  # (acquire, release or None)
        held = {}
        for t, c, subs in self.calls:
            if c.lock == lock and c.method == "acquire":
                held[t] = subs[0]
                pairs.append([subs[0], None])
            elif c.lock == lock:
                for p in pairs:
                    if p[0] is held[t]:
                        p[1] = subs
        open_ones = [p for p in pairs if p[1] is None]
        if len(open_ones) > 1:
            return
        done = [p for p in pairs if p[1] is not None]
        saved = self.saved()
        for order in permutations(done):
            order = list(order) + open_ones
            for i, (a, r) in enumerate(order):
                for a2, _ in order[i + 1:]:
                    for s in r:
                        if s.stamp != "aRF":
                            self.both(s, a2, ib=False)
            if self.ok():
                self.choose_lo(locks[1:])
            self.restore(saved)

    def choose_mo(self, locs, memory):
        if not locs:
            memory = {x: memory.get(x, self.init[x].wv) for x in self.init}
            if not self.skip(memory):
                self.found_one = False
                self.choose_rao(list(range(self.test.nodes)))
                if self.found_one:
                    self.found(memory)
            return
        x = locs[0]
        saved = self.saved()
        for order in permutations(self.writes[x]):
            if any(self.closed[b.id] >> a.id & 1 for i, a in enumerate(order) for b in order[i + 1:]):
                continue
            closed = self.closed
            whole = [self.init[x]] + list(order)
            where = {w.id: i for i, w in enumerate(whole)}
            for i, a in enumerate(whole):
                for b in whole[i + 1:]:
                    self.both(a, b, ib=False)
            good = True
            for r in self.reads:
                if r.loc != x:
                    continue
                for w in whole[where[self.rf[r.id].id] + 1:]:
                    if w is r:
                        continue
                    if r.lib == "shared" and w.stamp == "aCW" and r.stamp == "aCR" and self.po(w, r):
                        good = False
                    own = r.thread == w.thread and r.stamp in ("lR", "aCR") and w.stamp in ("lW", "aCW")
                    self.both(r, w, ib=own and self.in_ib(r, w))
            if good and self.ok():
                self.choose_mo(locs[1:], {**memory, x: whole[-1].wv})
            self.restore(saved)
            self.closed = closed

    def choose_rao(self, nodes):
        if not nodes:
            self.choose_nfo(self.nfo_pairs())
            return
        n = nodes[0]
        reads = [(s, c[2]) for c in self.calls for s in c[2] if s.stamp in ("naR", "aNAR") and s.node == n]
        saved = self.saved()
        for order in permutations(reads):
            for i, (a, subs) in enumerate(order):
                for b, _ in order[i + 1:]:
                    self.both(a, b, ib=False)
                    for w in subs:
                        if w.stamp in ("naW", "aNRW"):
                            self.both(w, b, ib=False)
            if self.ok():
                self.choose_rao(nodes[1:])
            self.restore(saved)
            if self.found_one:
                return

    def nfo_pairs(self):
        left = {"nlR": ("nlW",), "nrR": ("nrW", "naW"), "naR": ("nrW", "naW"), "aNLR": ("aNLW",), "aNRR": ("aNRW",),
                "aNAR": ("aNRW",)}
        out = []
        for a in self.subs:
            for b in self.subs:
                if b.stamp in left.get(a.stamp, ()) and a.thread == b.thread and a.node == b.node and self.in_ib(a, b):
                    out.append((a, b))
        return out

    def choose_nfo(self, pairs):
        if not pairs:
            self.found_one = True
            return
        a, b = pairs[0]
        saved = self.saved()
        for x, y in ((a, b), (b, a)):
            self.both(x, y)
            if self.ok():
                self.choose_nfo(pairs[1:])
            self.restore(saved)
            if self.found_one:
                return


def decide(test, sto=STO, want=None, work=200000):
    """The outcomes, as a set of rows in the order of the condition's things. With `want` (a predicate on (regs, memory)) only
    combinations that fulfil it are looked for. `work` bounds the number of graphs that are looked at."""
    shown = test.shown
    per_thread, memory = all_traces(test)
    out, budget = set(), [work]
    for chosen in combinations(per_thread, memory):
        regs = [r for _, r in chosen]

        def row(mem):
            return tuple(language.value_of(x, regs, mem) for x in shown)

        def skip(mem):
            return row(mem) in out or (want is not None and not want(regs, mem))

        Search(test, chosen, memory, sto, budget).run(lambda mem: out.add(row(mem)), skip)
    return out


def satisfiable(test, sto=STO):
    """Is there an outcome that fulfils the condition, whatever its quantifier?"""
    return bool(decide(test, sto, lambda regs, mem: language.holds(test.cond, regs, mem)))


def verdict(test, sto=STO):
    """Does the test hold?"""
    if test.quantifier == "forall":
        return not decide(test, sto, lambda regs, mem: not language.holds(test.cond, regs, mem))
    return satisfiable(test, sto) == (test.quantifier == "exists")


if __name__ == "__main__":
    import sys
    import time
    bad = 0
    for path in sys.argv[1:]:
        start = time.time()
        try:
            t = language.read_file(path)
            good = verdict(t)
        except (TooBig, language.Bad) as e:
            print("%-60s %s: %s" % (path, type(e).__name__, e))
            bad += 1
            continue
        bad += not good
        print("%-60s %s %.2f" % (path, "Ok" if good else "No", time.time() - start))
    sys.exit(1 if bad else 0)
