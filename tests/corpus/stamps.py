#!/usr/bin/env python3
"""Writes litmus/stamps: for every cell of the stamp-order table (semantics section 4), programs that show it.

In each, thread P0 does a subevent with the row's stamp and then one with the column's. P1 first observes that the
column's has been done (`after`), then observes or causes something that must come before the row's (`before`). So the
condition asks for a cycle through this one cell: it is forbidden where the table orders the two, allowed where it does not.

    stamps.py [--write|--check] FOLDER    write the files, or compare them with what stands there
    stamps.py --cells FOLDER              ask oracle.py, for each cell: are its tests' verdicts right, and would they be others if the
                                          cell were? (It must be so, but for the cells that REDUNDANT lists with their reason.)
    stamps.py --table PAGE                the page of the documentation has the table of cells as it is here; it is printed if not
"""
import os
import sys

import language
import oracle

STAMPS = oracle.STAMPS
CPU = STAMPS[:5]

NOUN = {
    "aCR": "a load", "aCW": "a store", "aCAS": "a locked operation", "aMF": "a call of fence strength",
    "aWT": "a wait", "aNLR": "a put's read of its source", "aNRW": "a put's remote write",
    "aNAR": "a remote atomic's read", "aNRR": "a get's remote read", "aNLW": "a get's local write",
    "aRF": "a remote fence", "aGF": "a global fence",
}


class Part:
    """One side of a test: P0's statements, locations, and P1's access.

    locs: {name: (node, init)}; access: ("write"|"read"|"sc_write"|"sc_read", name, node, value); cond: what P0's side shows at the end.
    """

    def __init__(self, code, locs, access, cond=(), sc=()):
        self.code, self.locs, self.access, self.cond, self.sc = code, locs, access, list(cond), list(sc)


def row(stamp, variant):
    """P1's access happens before this subevent: the value that P0's reads comes from it, or it misses what P0's writes."""
    x = "x"
    if stamp == "aCR":
        return Part(["r0 = x;"], {x: (0, 0)}, ("write", x, 0, 1), ["0:r0 = 1"])
    if stamp == "aCW":
        return Part(["x = 1;"], {x: (0, 0)}, ("read", x, 0, 0))
    if stamp == "aCAS":
        return Part(["r0 = xchg(x, 2);"], {x: (0, 0)}, ("write", x, 0, 1), ["0:r0 = 1"])
    if stamp == "aMF" and variant == "mfence":
        return Part(["x = 1;", "mfence();"], {x: (0, 0)}, ("read", x, 0, 0))
    if stamp == "aMF":
        return Part(["r0 = sc_read(x);"], {}, ("sc_write", x, 0, 1), ["0:r0 = 1"], [x])
    if stamp == "aWT":
        return Part(["get(a, x, d);", "wait(d);"], {x: (1, 0), "a": (0, 0)}, ("write", x, 1, 1), ["a = 1"])
    if stamp == "aNLR":
        return Part(["put(a, x, d);"], {x: (0, 0), "a": (1, 0)}, ("write", x, 0, 1), ["a = 1"])
    if stamp == "aNRW":
        return Part(["put(x, 1, d);"], {x: (1, 0)}, ("read", x, 1, 0))
    if stamp == "aNAR":
        return Part(["rcas(a, x, 7, 8, d);"], {x: (1, 0), "a": (0, 0)}, ("write", x, 1, 1), ["a = 1"])
    if stamp == "aNRR":
        return Part(["get(a, x, d);"], {x: (1, 0), "a": (0, 0)}, ("write", x, 1, 1), ["a = 1"])
    if stamp == "aNLW":
        return Part(["get(x, a, d);"], {x: (0, 0), "a": (1, 1)}, ("read", x, 0, 0))
    if stamp == "aRF":
        return Part(["get(a, x, d);", "rfence(1);"], {x: (1, 0), "a": (0, 0)}, ("write", x, 1, 1), ["a = 1"])
    if stamp == "aGF":
        return Part(["put(x, 1, d);", "gfence({1});"], {x: (1, 0)}, ("read", x, 1, 0))
    raise KeyError(stamp)


def column(stamp, n, variant, earlier):
    """This subevent happens before P1's access: P1 reads what it wrote, or P1's write comes too late for it. `earlier`: the row's stamp."""
    y = "y"
    if stamp == "aCR":
        return Part(["r1 = y;"], {y: (0, 0)}, ("write", y, 0, 1), ["0:r1 = 0"])
    if stamp == "aCW":
        return Part(["y = 1;"], {y: (0, 0)}, ("read", y, 0, 1))
    if stamp == "aCAS":
        return Part(["r1 = xchg(y, 1);"], {y: (0, 0)}, ("read", y, 0, 1))
    if stamp == "aMF" and variant == "mfence":
        return Part(["mfence();", "r1 = y;"], {y: (0, 0)}, ("write", y, 0, 1), ["0:r1 = 0"])
    if stamp == "aMF":
        return Part(["sc_write(y, 1);"], {}, ("sc_read", y, 0, 1), [], [y])
    if stamp == "aWT":
        return Part(["wait(e);", "r1 = y;"], {y: (0, 0), "w": (1, 0)}, ("write", y, 0, 1), ["0:r1 = 0"])
    if stamp == "aNLR":
        return Part(["put(b, y, d);"], {y: (0, 0), "b": (n, 9)}, ("write", y, 0, 1), ["b = 0"])
    if stamp == "aNRW":
        return Part(["put(y, 1, d);"], {y: (n, 0)}, ("read", y, n, 1))
    if stamp == "aNAR":
        return Part(["rcas(b, y, 7, 8, d);"], {y: (n, 0), "b": (0, 9)}, ("write", y, n, 1), ["b = 0"])
    if stamp == "aNRR":
        return Part(["get(b, y, d);"], {y: (n, 0), "b": (0, 9)}, ("write", y, n, 1), ["b = 0"])
    if stamp == "aNLW":
        return Part(["get(y, b, d);"], {y: (0, 0), "b": (n, 1)}, ("read", y, 0, 1))
    if stamp == "aRF":
        # A fence is seen by what stands behind it: something that the row's subevent by itself is not before.
        behind = {"aNRW": "aNLR", "aNAR": "aNLR", "aNRR": "aNRR", "aNLW": "aNRR"}.get(earlier, "aNRW")
        part = column(behind, n, "", earlier)
        part.code.insert(0, "rfence(%d);" % n)
        return part
    if stamp == "aGF":
        return Part(["gfence({%d});" % n, "r1 = y;"], {y: (0, 0)}, ("write", y, 0, 1), ["0:r1 = 0"])
    raise KeyError(stamp)


def observer(after, before):
    """P1: `after` and then `before`, kept in order. Returns its node, statements, conditions and further locations."""
    (kind1, loc1, n1, v1), (kind2, loc2, n2, v2) = after, before
    node = n2 if kind1.startswith("sc") else n1
    code, cond, locs = [], [], {}

    def plain(kind, loc, v, reg):
        if kind == "write":
            code.append("%s = %d;" % (loc, v))
        elif kind == "sc_write":
            code.append("sc_write(%s, %d);" % (loc, v))
        else:
            code.append("%s = %s;" % (reg, "sc_read(%s)" % loc if kind == "sc_read" else loc))
            cond.append("1:%s = %d" % (reg, v))
    plain(kind1, loc1, v1, "r0")
    if kind2.startswith("sc") or n2 == node:
        if kind1 == "write" and kind2 == "read":
            code.append("mfence();")
        plain(kind2, loc2, v2, "r1")
    elif kind2 == "write":
        code.append("put(%s, %d, d);" % (loc2, v2))
    else:
        locs["c"] = (node, 9)
        code.append("get(c, %s, d);" % loc2)
        cond.append("c = %d" % v2)
    return node, code, cond, locs


def program(name, docs, a, b, col_node, variant_row="", variant_col="", allowed=False):
    first, second = row(a, variant_row), column(b, col_node, variant_col, a)
    node, code, cond, more = observer(second.access, first.access)
    locs = {**first.locs, **second.locs, **more}
    body = first.code + second.code
    if "wait(e);" in body:
        body = ["put(w, 1, e);"] + body
    nodes = max([n for n, _ in locs.values()] + [node, 1, col_node if b in ("aRF", "aGF") else 0]) + 1
    lines = ["RDMA_WAIT " + name] + ['"%s"' % d for d in docs] + ["{"]
    for n in range(nodes):
        here = ["%s = %d" % (x, v) for x, (m, v) in sorted(locs.items()) if m == n]
        if here:
            lines.append("  node %d: %s;" % (n, ", ".join(here)))
    lines.append("  nodes %d;" % nodes)
    lines += ["  sc %s on 0 = 0;" % s for s in first.sc + second.sc]
    lines.append("}")
    for t, (where, stmts) in enumerate([(0, body), (node, code)]):
        lines += ["P%d on %d {" % (t, where)] + ["  " + s for s in stmts] + ["}"]
    conds = first.cond + second.cond + cond
    lines.append("%s (%s)" % ("exists" if allowed else "~exists", " /\\ ".join(conds)))
    return "\n".join(lines) + "\n"


def explain(a, b, ordered, where):
    cell = "Cell %s, %s%s: %s" % (a, b, where and " (%s)" % where, "ordered" if ordered else "not ordered")
    verb = "comes before" if ordered else "may come after"
    if a == b:
        return [cell, "%s %s a later %s" % (NOUN[a].capitalize(), verb, NOUN[b].split(" ", 1)[1]) +
                (" of " + where if where else "")]
    later = NOUN[b].split(" ", 1)
    return [cell, "%s %s a later %s%s" % (NOUN[a].capitalize(), verb, later[1], " (%s)" % where if where else "")]


def tests():
    """(name, cell, ordered, text) of every test."""
    for a in STAMPS:
        for b in STAMPS:
            cell = oracle.STO[a, b]
            # A wait and a global fence order across nodes; where the row's operation would order same-node things by itself, look elsewhere.
            far = 2 if a in ("aWT", "aGF") and b not in CPU else 1
            kinds = [("+same-node", "same node", True, 1), ("+other-node", "another node", False, 2)] if cell == "s" else \
                [("", "", cell == "+", far)]
            for suffix, where, ordered, n in kinds:
                variants = [("", "", "")]
                if a == "aMF" and b in ("aCR", "aWT"):
                    variants.append(("+mfence", "mfence", ""))
                if b == "aMF" and a not in ("aMF",):
                    variants.append(("+mfence", "", "mfence"))
                for extra, vr, vc in variants:
                    name = "%s-%s%s%s" % (a, b, suffix, extra)
                    yield name, (a, b), ordered, program(name, explain(a, b, ordered, where), a, b, n, vr, vc, not ordered)
    yield from lock_tests()


SLOCK = """RDMA_WAIT {name}
"{a}"
"{b}"
{{
  node 0: {locs};
  nodes 1;
  slock l on 0;{sc}
}}
P0 on 0 {{
  acquire(l);
  y = 1;
  {first};
  release(l);
}}
P1 on 0 {{
  acquire(l);
  r1 = y;
  {second};
  release(l);
}}
~exists (0:r0 = 1 /\\ 1:r1 = 1)
"""

NLOCK = """RDMA_WAIT {name}
"{a}"
"{b}"
{{
  node 0: a = 0, y = 0;
  node 1: b = 9, x = 0;
  nodes 2;
  nlock l on 1;
}}
P0 on 0 {{
  acquire(l);
  {first};
  release(l);
  put(b, y, e);
}}
P1 on 0 {{
  y = 1;
  put(x, 1, d);
}}
~exists (a = 1 /\\ b = 0)
"""


def lock_tests():
    """Cells that only a release shows: it is the one call whose fence stamp another thread can see."""
    slock = [("aCR", "r0 = x", "x = 1", "x = 0, y = 0", ""), ("aCAS", "r0 = faa(x, 0)", "x = 1", "x = 0, y = 0", ""),
             ("aMF", "r0 = sc_read(x)", "sc_write(x, 1)", "y = 0", "\n  sc x on 0 = 0;")]
    for a, first, second, locs, sc in slock:
        name = a + "-aGF+slock"
        yield name, (a, "aGF"), True, SLOCK.format(
            name=name, a="Cell %s, aGF: ordered" % a, b="%s comes before the release of the strong lock, and so before the next owner's part"
            % NOUN[a].capitalize(), first=first, second=second, locs=locs, sc=sc)
    for a, first in [("aNAR", "rcas(a, x, 7, 8, d)"), ("aNRR", "get(a, x, d)")]:
        name = a + "-aRF+same-node+nlock"
        yield name, (a, "aRF"), True, NLOCK.format(
            name=name, a="Cell %s, aRF (same node): ordered" % a, b="%s comes before the remote fence that the release of a node lock contains"
            % NOUN[a].capitalize(), first=first)


PAIRED = "the write stands behind a read or fence of its own call, and the row orders that already"
AS_STRONG = "whatever the column orders behind itself, the row orders by itself"
REDUNDANT = {}
for _row in ("aCR", "aCW", "aCAS", "aMF", "aWT", "aGF", "aNLR", "aRF"):
    REDUNDANT[_row, "aNRW"] = REDUNDANT[_row, "aNLW"] = PAIRED
for _row in ("aNRW", "aNAR"):
    REDUNDANT[_row, "aNLW"] = PAIRED
REDUNDANT["aNRR", "aNLW"] = "the earlier get's own local write stands between (aNLW, aNLW)"
for _row in ("aCR", "aCAS", "aMF", "aWT", "aGF"):
    REDUNDANT[_row, "aWT"] = AS_STRONG
for _row in ("aCR", "aCW", "aCAS", "aMF", "aWT", "aGF", "aNLR", "aRF"):
    REDUNDANT[_row, "aRF"] = AS_STRONG
for _row in ("aWT", "aRF", "aGF"):
    REDUNDANT[_row, "aGF"] = "whatever comes before the row's, comes before the global fence by itself"
for _col in ("aNAR", "aNRR"):
    REDUNDANT["aNLR", _col] = "the put's own remote write stands between (aNRW, %s)" % _col
REDUNDANT["aNLR", "aGF"] = "the put's own remote write stands between (aNRW, aGF)"
REDUNDANT["aNAR", "aGF"] = "the atomic's own local write stands between (aNLW, aGF)"
REDUNDANT["aNRR", "aGF"] = "the get's own local write stands between (aNLW, aGF)"


def flipped(cell, where_same):
    """The table with one cell changed: an ordered one dropped, an unordered one set."""
    sto = dict(oracle.STO)
    sto[cell] = {"+": ".", ".": "+", "s": "." if where_same else "+"}[sto[cell]]
    return sto


def main():
    mode, folder = sys.argv[1], sys.argv[2]
    made = {name + ".litmus": text for name, _, _, text in tests()}
    if mode == "--write":
        os.makedirs(folder, exist_ok=True)
        for name, text in made.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.write(text)
        return 0
    if mode == "--check":  # files of other names may stand beside them
        bad = 0
        for name, text in made.items():
            path = os.path.join(folder, name)
            if not os.path.exists(path) or open(path, encoding="utf-8").read() != text:
                print("differs from what stamps.py writes: " + name)
                bad = 1
        return bad
    if mode == "--table":
        with open(folder, encoding="utf-8") as f:
            page = f.read()
        if page_table() in page:
            return 0
        print(page_table())
        return 1
    hinge, bad = {}, 0
    for name, cell, ordered, text in tests():
        test = language.Reader(text).read()
        if oracle.satisfiable(test) == ordered:
            print("the oracle decides otherwise: " + name)
            bad = 1
        moved = oracle.satisfiable(test, flipped(cell, "same-node" in name)) == ordered
        hinge[cell, ordered] = hinge.get((cell, ordered), False) or moved
    for (cell, ordered), moved in hinge.items():
        if moved == (ordered and cell in REDUNDANT):
            print("%s-%s, %s: %s" % (*cell, "ordered" if ordered else "not ordered",
                                     "hinges, but is listed as redundant" if moved else "no test hinges on it"))
            bad = 1
    print("%d cells and kinds, tests hinge on %d, %d are listed as redundant" % (len(hinge), sum(hinge.values()), len(REDUNDANT)))
    return bad


def page_table():
    """For docs/corpus.md: the table with the redundant cells marked, and their reasons."""
    out = ["| | " + " | ".join(STAMPS) + " |", "|---" * 13 + "|"]
    for a in STAMPS:
        cells = []
        for b in STAMPS:
            sign = {"+": "✓", ".": "·", "s": "s"}[oracle.STO[a, b]]
            cells.append("(%s)" % sign if (a, b) in REDUNDANT else sign)
        out.append("| %s | %s |" % (a, " | ".join(cells)))
    out += ["", "| cells in brackets | why no program depends on them |", "|---|---|"]
    by = {}
    for cell, why in REDUNDANT.items():
        by.setdefault(why, []).append("%s→%s" % cell)
    out += ["| %s | %s |" % (", ".join(sorted(cells)), why) for why, cells in by.items()]
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    sys.exit(main())
