"""Loaded by every Python peer: at the exit it adds a line of JSON to the file PEER_USAGE."""

import atexit
import json
import os
import resource
import sys


def peak_kb():
    # On Linux a child's rusage begins with its parent's peak; VmHWM does not.
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / 1024 if sys.platform == "darwin" else peak


def write():
    used = resource.getrusage(resource.RUSAGE_SELF)
    usage = {"cpuSeconds": used.ru_utime + used.ru_stime, "peakRssMb": peak_kb() / 1024}
    with open(os.environ["PEER_USAGE"], "a") as file:
        file.write(json.dumps(usage) + "\n")


if "PEER_USAGE" in os.environ:
    atexit.register(write)
