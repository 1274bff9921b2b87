from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.doors import addresses

# fmt: off
NOT_PUBLIC = (
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "100.100.100.200", "127.0.0.1",
    "127.255.255.254", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1",
    "192.168.1.1", "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.7", "224.0.0.1", "239.1.1.1", "240.0.0.1",
    "255.255.255.255", "168.63.129.16",
    "::", "::1", "::127.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8",
    "::ffff:0:127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b:1::8.8.8.8", "100::1", "2001::1",
    "2001:0:7f00:1::1", "2001:2::1", "2001:10::1", "2001:20::1", "2001:db8::1", "2002:7f00:1::", "2002:a00:1::1",
    "2002:808:808::1", "3fff::1", "5f00::1", "4000::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%lo", "fec0::1",
    "ff02::1", "2606:4700::1111%lo",
    "", "localhost", "127.1", "0x7f.1", "2130706433", "8.8.8.8 ", "8.8.8.8:53", "[2606:4700::1111]", "08.8.8.8",
)
PUBLIC = (
    "1.1.1.1", "8.8.8.8", "93.184.216.34", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.167.1.1",
    "223.255.255.255", "2606:4700::1111", "2a00:1450:4001:80b::200e", "2001:4860:4860::8888", "64:ff9b::8.8.8.8",
)
# fmt: on


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_what_is_not_on_the_public_internet_is_not_public(address: str) -> None:
    assert not addresses.public(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_what_is_on_the_public_internet_is_public(address: str) -> None:
    assert addresses.public(address)


@given(st.ip_addresses())
def test_nothing_is_public_that_the_standard_library_calls_otherwise(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    if addresses.public(str(address)):
        inner = address if address not in ipaddress.ip_network("64:ff9b::/96") else None
        assert inner is None or (inner.is_global and not inner.is_multicast and not inner.is_reserved)


def test_the_machine_s_own_addresses_are_known_without_a_list_of_them() -> None:
    assert addresses.own("127.0.0.1")
    assert addresses.own("127.9.9.9")
    assert not addresses.own("93.184.216.34")
    assert not addresses.own("2606:4700::1111")
