# Common to the tests of the command line. REMORA is the program, SOURCE the project's folder.
remora() {
    "$REMORA" "$@"
}

# A test with a question; $1 names it, the condition is $2.
store_buffering() {
    cat <<END
RDMA_WAIT $1
{
  node 0: x = 0;
  node 1: y = 0;
}
P0 on 0 { put(y, 1, d); wait(d); r0 = x; }
P1 on 1 { put(x, 1, d); wait(d); r0 = y; }
$2
END
}

# More than any engine does in a short time: every order of the stores gives other values to the loads.
endless() {
    echo "RDMA_TSO $1"
    echo "{ node 0: x, y, z; }"
    for t in 0 1 2 3 4 5; do
        echo "P$t on 0 { x = 1$t; y = 1$t; z = 1$t; r0 = x; r1 = y; r2 = z; x = 2$t; y = 2$t; r3 = x; r4 = y; }"
    done
    echo "locations [$(for t in 0 1 2 3 4 5; do for r in 0 1 2 3 4; do echo -n "$t:r$r; "; done; done)]"
    echo "exists (0:r0 = 99)"
}

# Times differ from run to run.
without_times() {
    sed -E 's/^(Time [^ ]+) .*/\1/; s/"seconds":[0-9.e-]+/"seconds":0/'
}
