#!/usr/bin/env python3
"""A third opinion, operational: semantics section 2 transcribed literally, every interleaving explored, nothing reduced.
RDMA-TSO, and RDMA-WAIT as far as wait goes (no libraries).

Each conjunct of a guard has a name, and `fault` may be `drop:NAME` or `add:NAME`: so it can be asked which test notices it.
"""
import sys
import time

import language
from language import MASK, evaluate

READS = ("PUT",)
REMOTE = ("PUT", "PUTV", "RCAS", "RFAA", "AW", "FENCE")


DROPPED = "dropped"  # where a false assume leads: no state, but neither is its predecessor stuck


class TooBig(Exception):
    pass


def flatten(block, code):
    """Statements to a list of instructions with jumps."""
    for s in block:
        if s[0] == "if":
            at = len(code)
            code.append(None)
            flatten(s[2], code)
            end = len(code)
            code.append(None)
            code[at] = ("branch", s[1], len(code))
            flatten(s[3], code)
            code[end] = ("jump", len(code))
        elif s[0] == "repeat":
            for _ in range(s[1]):
                flatten(s[2], code)
        elif s[0] == "do":
            code.append(("spin",))
            flatten(s[1], code)
            code.append(("spin-end", s[2]))
        else:
            code.append(s)
    return code


def replaced(tup, i, *new):
    return tup[:i] + new + tup[i + 1:]


class Machine:
    def __init__(self, test, fault="", limit=2000000):
        self.test, self.limit = test, limit
        self.action, _, self.name = fault.partition(":")
        self.locs = {x: i for i, x in enumerate(test.locs)}
        self.home = [n for n, _ in test.locs.values()]
        self.N, self.T = test.nodes, len(test.threads)
        self.code = [flatten(b, []) for _, b in test.threads]
        self.tso = test.arch == "RDMA_TSO"

    # A conjunct of a guard, and one that the specification does not have.
    def need(self, name, value):
        return value or (self.action == "drop" and self.name == name)

    def extra(self, name, value):
        return value or not (self.action == "add" and self.name == name)

    def none_older(self, rule, older, kinds, others):
        """Guard "no older K" for each of `kinds`; each of `others` may stand before."""
        have = {e[0] for e in older}
        return all(self.need("%s.%s" % (rule, k), k not in have) for k in kinds) and \
            all(self.extra("%s.%s" % (rule, k), k not in have) for k in others)

    def run(self):
        test = self.test
        mem = tuple(v for _, v in test.locs.values())
        threads = tuple(self.advance(t, (0, (), (), ((),) * self.N)) for t in range(self.T))
        start = (mem, threads, (((), (), ()),) * (self.T * self.N), (0,) * self.N)
        seen, todo = {start}, [start]
        self.outcomes, self.stuck = set(), set()
        while todo:
            state = todo.pop()
            after = list(self.steps(state))
            if not after:
                (self.outcomes if self.complete(state) else self.stuck).add(self.observe(state))
            elif self.complete(state):
                self.outcomes.add(self.observe(state))
            for s in after:
                if s is not DROPPED and s not in seen:
                    seen.add(s)
                    todo.append(s)
            if len(seen) > self.limit:
                raise TooBig(test.name)
        self.explored = len(seen)
        return self

    def observe(self, state):
        mem, threads = state[0], state[1]
        regs = [dict(th[1]) for th in threads]
        test = self.test
        memory = {(s, n): v for s, v in test.shared.items() for n in range(self.N)}  # nothing here uses these two
        memory.update(test.sc)
        memory.update({x: mem[i] for x, i in self.locs.items()})
        return tuple(language.value_of(x, regs, memory) for x in self.test.shown)

    def complete(self, state):
        mem, threads, qps, _ = state
        return all(th is not None and th[0] == len(self.code[t]) and not th[2] for t, th in enumerate(threads)) and \
            all(not p and not r and all(e == ("CN",) for e in l) for p, r, l in qps)

    # -- the local part of a thread; None: this run is dropped
    def advance(self, t, th):
        pc, regs, B, out = th
        code = self.code[t]
        while pc < len(code):
            s = code[pc]
            if s[0] == "assign":
                d = dict(regs)
                d[s[1]] = evaluate(s[2], d)
                regs = tuple(sorted(d.items()))
            elif s[0] == "branch":
                if not evaluate(s[1], dict(regs)):
                    pc = s[2]
                    continue
            elif s[0] == "jump":
                pc = s[1]
                continue
            elif s[0] in ("assume", "spin-end"):
                if not evaluate(s[1], dict(regs)):
                    return None
            else:
                break
            pc += 1
        return (pc, regs, B, out)

    def steps(self, state):
        mem, threads, qps, A = state
        for t in range(self.T):
            for s in self.cpu(t, state):
                yield DROPPED if s[1][t] is None else s
            if threads[t][2]:
                yield self.flush(t, state)
            for n in range(self.N):
                yield from self.nic(t, n, state)

    def with_thread(self, state, t, pc, regs, B, out, mem=None, qps=None):
        th = self.advance(t, (pc, regs, B, out))
        return (state[0] if mem is None else mem, replaced(state[1], t, th), state[2] if qps is None else qps, state[3])

    def cpu(self, t, state):
        mem, threads, qps, A = state
        pc, regs, B, out = threads[t]
        code = self.code[t]
        if pc == len(code):
            return
        s = code[pc]
        env = dict(regs)

        def val(e):
            return evaluate(e, env)

        def put_reg(reg, v):
            return regs if reg is None else tuple(sorted({**env, reg: v}.items()))

        def loaded(x):
            i = self.locs[x]
            for e in reversed(B):
                if e[0] == "st" and e[1] == i and not (self.action == "drop" and self.name == "load.forward"):
                    return e[2]
            return mem[i]
        kind = s[0]
        go = self.with_thread
        if kind == "spin":
            yield go(state, t, pc + 1, regs, B, out)
        elif kind == "load":
            yield go(state, t, pc + 1, put_reg(s[1], loaded(s[2][1])), B, out)
        elif kind == "await":
            if language.compare(s[2], loaded(s[1][1]), val(s[3])):
                yield go(state, t, pc + 1, regs, B, out)
        elif kind == "store":
            yield go(state, t, pc + 1, regs, B + (("st", self.locs[s[1][1]], val(s[2])),), out)
        elif kind == "mfence":
            if self.need("mfence.B", not B):
                yield go(state, t, pc + 1, regs, B, out)
        elif kind in ("cas", "faa", "xchg"):
            if self.need("cas.B", not B):
                i = self.locs[s[2]]
                old = mem[i]
                new = val(s[3]) if kind == "xchg" else (old + val(s[3])) & MASK if kind == "faa" else \
                    val(s[4]) if old == val(s[3]) or (self.action, self.name) == ("drop", "cas.equal") else old
                yield go(state, t, pc + 1, put_reg(s[1], old), B, out, replaced(mem, i, new))
        elif kind == "poll":
            p, r, l = qps[t * self.N + s[1]]
            if self.need("poll.first", bool(l) and l[0] == ("CN",)) and ("CN",) in l:
                i = l.index(("CN",))
                yield go(state, t, pc + 1, regs, B, out, None, replaced(qps, t * self.N + s[1], (p, r, l[:i] + l[i + 1:])))
        elif kind == "wait":
            busy = [n for n in range(self.N) if s[1] in out[n]]
            if not busy:
                yield go(state, t, pc + 1, regs, B, out)
            else:
                n = busy[0]
                p, r, l = qps[t * self.N + n]
                if l and l[0] == ("CN",):
                    yield go(state, t, pc, regs, B, replaced(out, n, out[n][1:]), None,
                             replaced(qps, t * self.N + n, (p, r, l[1:])))
        else:
            n, entry, wid = self.remote(s, val)
            if entry[0] != "FENCE":
                out = replaced(out, n, out[n] + (wid,)) if not self.tso else out
            yield go(state, t, pc + 1, regs, B + (("op", n, entry),), out)

    def remote(self, s, val):
        L = self.locs
        if s[0] == "rfence":
            return s[1], ("FENCE",), None
        if s[0] == "put":
            y = L[s[1][1]]
            src = ("PUT", y, L[s[2][1]], 0) if s[2][0] == "loc" else ("PUT", y, None, val(s[2]))
            return self.home[y], src, s[3]
        x, y = L[s[1][1]], L[s[2][1]]
        if s[0] == "get":
            return self.home[y], ("GET", x, y), s[3]
        if s[0] == "rcas":
            return self.home[y], ("RCAS", x, y, val(s[3]), val(s[4])), s[5]
        return self.home[y], ("RFAA", x, y, val(s[3])), s[4]

    def flush(self, t, state):
        mem, threads, qps, A = state
        pc, regs, B, out = threads[t]
        e = B[0]
        th = replaced(threads, t, (pc, regs, B[1:], out))
        if e[0] == "st":
            return (replaced(mem, e[1], e[2]), th, qps, A)
        q = t * self.N + e[1]
        p, r, l = qps[q]
        return (mem, th, replaced(qps, q, (p + (e[2],), r, l)), A)

    def nic(self, t, n, state):
        mem, threads, qps, A = state
        q = t * self.N + n
        p, r, l = qps[q]

        def to(p=p, r=r, l=l, mem=mem, A=A):
            return (mem, threads, replaced(qps, q, (p, r, l)), A)
        no_lw = all(e[0] != "LW" for e in l)
        ALL = ("PUT", "PUTV", "ACK", "GET", "RCAS", "RFAA", "AW", "LW", "FENCE")

        def free(rule, older, kinds):
            return self.none_older(rule, older, kinds, [k for k in ALL if k not in kinds])
        for i, e in enumerate(p):
            older, kind = p[:i], e[0]
            if kind == "FENCE":
                if self.need("1.head", not older) and self.extra("1.wbR", not r) and self.extra("1.wbL", no_lw) and \
                        self.extra("1.CN", not l):
                    yield to(p=p[:i] + p[i + 1:])
            elif kind == "PUT":
                if free("2", older, ("PUT", "FENCE")) and self.need("2.LW-in-wbL", no_lw) and self.extra("2.wbR", not r) and \
                        self.extra("2.CN", not l):
                    yield to(p=replaced(p, i, ("PUTV", e[1], e[3] if e[2] is None else mem[e[2]])))
            elif kind == "PUTV":
                if free("3", older, REMOTE) and self.extra("3.wbR", not r) and self.extra("3.wbL", no_lw):
                    yield to(p=replaced(p, i, ("ACK",)), r=r + (("W", e[1], e[2]),))
            elif kind == "ACK":
                if self.need("5.head", not older) and self.extra("5.wbR", not r) and self.extra("5.wbL", no_lw):
                    yield to(p=p[:i] + p[i + 1:], l=l + (("CN",),))
            elif kind == "GET":
                if free("6", older, REMOTE) and self.need("6.wbR", not r) and self.extra("6.A", not A[n]) and \
                        self.extra("6.wbL", no_lw):
                    yield to(p=replaced(p, i, ("LW", e[1], mem[e[2]])))
            elif kind == "LW":
                if self.need("7.head", not older) and self.extra("7.wbR", not r) and self.extra("7.wbL", no_lw):
                    yield to(p=p[:i] + p[i + 1:], l=l + (("LW", e[1], e[2]), ("CN",)))
            elif kind in ("RCAS", "RFAA"):
                rule = "11" if kind == "RFAA" else "10" if mem[e[2]] == e[3] else "9"
                if free(rule, older, REMOTE) and self.need(rule + ".wbR", not r) and self.need(rule + ".A", not A[n]) and \
                        self.extra(rule + ".wbL", no_lw):
                    v = mem[e[2]]
                    if rule == "9":
                        yield to(p=replaced(p, i, ("LW", e[1], v)))
                    else:
                        new = (v + e[3]) & MASK if rule == "11" else e[4]
                        yield to(p=replaced(p, i, ("AW", e[2], new), ("LW", e[1], v)), A=replaced(A, n, 1))
            elif kind == "AW":
                if free("12", older, REMOTE) and self.extra("12.wbR", not r) and self.extra("12.wbL", no_lw):
                    yield to(p=p[:i] + p[i + 1:], r=r + (("AW", e[1], e[2]),))
        for i, e in enumerate(r):
            if self.need("4.13.oldest", i == 0) and self.extra("4.A", e[0] == "AW" or not A[n]):
                yield to(r=r[:i] + r[i + 1:], mem=replaced(mem, e[1], e[2]),
                         A=A if e[0] == "W" else replaced(A, n, 0))
        for i, e in enumerate(l):
            if e[0] == "LW" and self.need("8.order", all(o[0] == "CN" for o in l[:i])) and self.extra("8.first", i == 0):
                yield to(l=l[:i] + l[i + 1:], mem=replaced(mem, e[1], e[2]))


def satisfied(test, outcomes):
    things = test.shown

    def eq(row):
        regs = [{} for _ in test.threads]
        memory = {}
        for x, v in zip(things, row):
            if x[0] == "reg":
                regs[x[1]][x[2]] = v
            else:
                memory[x[1]] = v
        return language.holds(test.cond, regs, memory)
    hits = [eq(row) for row in outcomes]
    return {"exists": any(hits), "~exists": not any(hits), "forall": all(hits)}[test.quantifier]


if __name__ == "__main__":
    bad = 0
    for path in sys.argv[1:]:
        start = time.time()
        try:
            t = language.read_file(path)
            m = Machine(t).run()
            good = satisfied(t, m.outcomes)
        except (TooBig, language.Bad, KeyError) as e:
            print("%-60s %s: %s" % (path, type(e).__name__, e))
            continue
        bad += not good
        print("%-60s %s %d states, %d explored, stuck %d, %.2f" %
              (path, "Ok" if good else "No", len(m.outcomes), m.explored, len(m.stuck), time.time() - start))
    sys.exit(1 if bad else 0)
