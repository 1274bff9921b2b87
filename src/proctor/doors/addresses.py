"""Which addresses are somebody else's on the public internet: the only ones that the host door connects to."""

from __future__ import annotations

import ipaddress
import socket
from typing import Final

# fmt: off
_NOT_PUBLIC_4: Final = tuple(map(ipaddress.IPv4Network, (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
    "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
    "168.63.129.16/32",  # a cloud's own service of each machine, at a public address
)))
_PUBLIC_6: Final = ipaddress.IPv6Network("2000::/3")
_NOT_PUBLIC_6: Final = tuple(map(ipaddress.IPv6Network, (
    "2001::/23",  # protocols' own, Teredo among them
    "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
)))
# fmt: on
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
"""Where networks without IPv4 see its addresses; what is behind one decides."""


def public(text: str) -> bool:
    """Whether an address is public in itself; False for what is no address. Addresses with another one in them are
    not, but for NAT64's of public ones."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id:
            return False
        if address not in _NAT64:
            return address in _PUBLIC_6 and not any(address in network for network in _NOT_PUBLIC_6)
        address = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return not any(address in network for network in _NOT_PUBLIC_4)


def own(text: str) -> bool:
    """Whether an address is this machine's, on whatever interface, public or not: only those can be bound."""
    with socket.socket(socket.AF_INET6 if ":" in text else socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((text, 0))
        except OSError:
            return False
    return True
