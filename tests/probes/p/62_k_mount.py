# PROBE: mount a tmpfs
# GOAL: deny
# CONTROL: root
import ctypes
import os

from probelib import CFG, allowed, sys_result, sysc

d = CFG["ws"] + "/mnt"
os.makedirs(d, exist_ok=True)
sys_result("mount", ctypes.c_char_p(b"none"), ctypes.c_char_p(d.encode()), ctypes.c_char_p(b"tmpfs"), 0, None)
sysc("umount2", ctypes.c_char_p(d.encode()), 2)
allowed("mounted")
