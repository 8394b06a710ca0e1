#!/bin/sh
# Runs in the virtual machine: the devices rxea and rxeb at the two ends of a veth pair, in place of rxe0. Soft-RoCE of Linux 6.1 knows
# the first network namespace only, so both ends are in it, and policy routing sends what goes between them over the wire.
set -e
rdma link delete rxe0 2>/dev/null || true
[ ! -e /sys/class/net/va ] || exit 0
conf=/proc/sys/net/ipv4/conf
ip link add va type veth peer name vb
for i in all va vb; do echo 0 >$conf/$i/rp_filter; echo 1 >$conf/$i/accept_local; done
ip link set va mtu 4200 up
ip link set vb mtu 4200 up
ip addr add 10.8.0.1/24 dev va
ip addr add 10.8.0.2/24 dev vb
ip rule add pref 10 iif va lookup local
ip rule add pref 11 iif vb lookup local
ip route add 10.8.0.2 dev va src 10.8.0.1 table 100
ip route add 10.8.0.1 dev vb src 10.8.0.2 table 101
ip rule add pref 100 from 10.8.0.1 to 10.8.0.2 lookup 100
ip rule add pref 101 from 10.8.0.2 to 10.8.0.1 lookup 101
ip rule add pref 200 lookup local
ip rule del pref 0
rdma link add rxea type rxe netdev va
rdma link add rxeb type rxe netdev vb
