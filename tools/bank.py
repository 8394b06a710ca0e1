#!/usr/bin/env python3
"""Runs the bank example on a provider until so many transfers have been made; every audit must find the exact total.

usage: bank.py REMORA BANK PROVIDER COUNT"""
import re
import subprocess
import sys


def main():
    remora, bank, provider, count = sys.argv[1:5]
    transfers = audits = 0
    while transfers < int(count):
        run = subprocess.run([remora, "launch", "--provider", provider, "-n", "3", "--", bank, "60", "2"], text=True,
                             stdout=subprocess.PIPE, timeout=600)
        found = re.findall(r"(\d+) transfers, (\d+) audits, (\d+) of them wrong", run.stdout)
        if run.returncode != 0 or len(found) != 3 or any(wrong != "0" for _, _, wrong in found):
            sys.exit(f"{provider}: status {run.returncode}\n{run.stdout}")
        transfers += sum(int(done) for done, _, _ in found)
        audits += sum(int(done) for _, done, _ in found)
        print(f"{provider}: {transfers} transfers, {audits} audits, every total exact", flush=True)


main()
