"""Which mount a descriptor is on: what is behind another mount than a folder's own is no part of that folder."""

from __future__ import annotations

import os


def mount_of(fd: int) -> tuple[int, int]:
    """The device (where /proc does not say more), and the number of the mount: two bind mounts of one device differ in
    that number alone.
    """
    try:
        with open(f"/proc/self/fdinfo/{fd}", "rb") as told:
            number = next((int(line.split()[1]) for line in told if line.startswith(b"mnt_id:")), 0)
    except OSError:
        number = 0
    return (0, number) if number else (os.fstat(fd).st_dev, 0)
