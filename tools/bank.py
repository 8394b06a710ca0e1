#!/usr/bin/env python3
"""Runs the bank example on a provider, again and again, until so many transfers have been made; every audit must find the exact total.

usage: bank.py REMORA BANK PROVIDER COUNT [NODES THREADS [SECONDS]]; each run takes SECONDS"""
import re
import subprocess
import sys
import time


def main():
    remora, bank, provider, count = sys.argv[1:5]
    nodes, threads, seconds = (*sys.argv[5:], *("3", "2", "60")[len(sys.argv) - 5:])
    transfers = audits = 0
    start = time.monotonic()
    while transfers < int(count):
        run = subprocess.run([remora, "launch", "--provider", provider, "-n", nodes, "--", bank, seconds, threads], text=True,
                             stdout=subprocess.PIPE, timeout=600)
        found = re.findall(r"(\d+) transfers, (\d+) audits, (\d+) of them wrong", run.stdout)
        if run.returncode != 0 or len(found) != int(nodes) or any(wrong != "0" for _, _, wrong in found):
            sys.exit(f"{provider}: status {run.returncode}\n{run.stdout}")
        transfers += sum(int(done) for done, _, _ in found)
        audits += sum(int(done) for _, done, _ in found)
        print(f"{provider}: {transfers} transfers, {audits} audits, every total exact; {time.monotonic() - start:.0f} s", flush=True)


main()
