"""What package managers say where a check needs what was not fetched: told from what cannot be built."""

from __future__ import annotations

import time

import pytest

from proctor.oracle.toolchains.unfetched import unfetched

SAID = [
    ("npm error code EAI_AGAIN\nnpm error syscall getaddrinfo", "", "npm ci"),
    ("npm error npx canceled due to missing packages and no YES option: [\"jest@30.2.0\"]", "", "npm ci"),
    ("error: no matching package named `proptest` found\nlocation searched: crates.io index\nAs a reminder, you're "
     "using offline mode (--offline) which can", "proptest", "cargo fetch"),
    ("error: failed to download `serde`\n\nCaused by:\n  attempting to make an HTTP request, but --offline was "
     "specified", "serde", "cargo fetch"),
    ("error: toolchain '1.70.0-x86_64-unknown-linux-gnu' is not installed", "1.70.0-x86_64-unknown-linux-gnu",
     "rustup toolchain install"),
    ("error: could not create temp file /home/me/.rustup/tmp/b2d_file: Read-only file system (os error 30)", "",
     "rustup toolchain install"),
    ("go: go.mod requires go >= 1.99 (running go 1.22.1; GOTOOLCHAIN=local)", "1.99", "install a newer Go"),
    ("ERROR: Could not find a version that satisfies the requirement rich (from versions: none)\n"
     "ERROR: No matching distribution found for rich", "rich", "pip install"),
    ("Could not find rspec-3.13.0 in locally installed gems", "rspec-3.13.0", "bundle install"),
    ("PHP Fatal error:  Uncaught Error: Failed opening required '/w/vendor/autoload.php' (include_path='.')",
     "vendor/autoload.php", "composer install"),
    ("* jason (Hex package)\n  the dependency is not available, run \"mix deps.get\"", "", "mix deps.get"),
    ("[ERROR] Failed to execute goal on project a: Could not resolve dependencies for project a:a:jar:1", "",
     "mvn dependency:go-offline"),
    ("   > Could not GET 'https://repo.maven.apache.org/maven2/a/a.pom'.", "", "gradle dependencies"),
    ("/w/a.csproj : error NU1301: Unable to load the service index for source", "", "dotnet restore"),
]  # fmt: skip
OTHERS = [
    "",
    "error: failed to load source for dependency `calc`\n  failed to read `/w/calc/Cargo.toml`",
    "error[E0432]: unresolved import `super::missing`\nerror: could not compile `calc`",
    "calc_test.go:5:9: undefined: Add\nFAIL\texample.com/calc [build failed]",
    "npm error code EAI_AGAIN\n" + "1 failing\n" * 30,
    "npm error code ELIFECYCLE",
    "Could not find the answer",
]


@pytest.mark.parametrize(("said", "name", "fix"), SAID)
def test_g2_what_was_not_fetched_is_told_with_what_brings_it(said: str, name: str, fix: str) -> None:
    found = unfetched(f"before\n{said}\nafter\n".encode())
    assert found is not None
    assert (found.name, found.fix.removeprefix("run ")) == (name, fix)
    assert unfetched(said.encode(), ran=True) is None


@pytest.mark.parametrize("said", OTHERS)
def test_other_failures_may_be_the_works(said: str) -> None:
    assert unfetched(said.encode()) is None


@pytest.mark.parametrize("unit", ["error: ", "Could not find ", "go: a requires ", "  > Could not ", "\x1b["])
def test_a_flood_is_read_quickly(unit: str) -> None:
    begin = time.process_time()
    unfetched((unit * (65_536 // len(unit))).encode())
    unfetched((f"{unit}\n" * (65_536 // len(unit))).encode())
    assert time.process_time() - begin < 0.5
