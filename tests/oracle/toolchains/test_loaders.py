"""What decides over what is loaded before the tests, and what beside it may change. Pure."""

from __future__ import annotations

import pytest

from proctor.oracle.toolchains import discovery, settings
from proctor.oracle.toolchains.loaders import PNP

from ..project import Project

TSCONFIG = """{
  // comments, "quotes" and commas after the last
  "extends": "./tsconfig.base.json",
  "compilerOptions": {"paths": {"@/*": ["./src/*"]}, "target": "es2022", /* https://x */},
}
"""
PLACE = "./.yarn/cache/jest-npm-29.7.0-ab.zip/node_modules/jest/"
STATE = f"""\
{{
  "packageRegistryData": [
    [null, [[null, {{"packageLocation": "./", "packageDependencies": [["jest", "npm:29.7.0"]]}}]]],
    ["jest", [["npm:29.7.0", {{"packageLocation": "{PLACE}", "packageDependencies": []}}]]],
    ["it's", [["npm:1.0.0", {{"packageLocation": "./.yarn/cache/x", "packageDependencies": []}}]]]
  ]
}}"""
CODE = "#!/usr/bin/env node\n\nconst RAW_RUNTIME_STATE =\n'STATE';\n\nmodule.exports = api;\n"


def pnp(state: str = STATE, code: str = CODE) -> str:
    return code.replace("STATE'", state.replace("'", "\\'").replace("\n", "\\\n") + "'")


HONEST = [
    (".env", "DEBUG=0\nNODE_ENV=x\n", "DEBUG=1\nAPP_PATH=y\nNODE_ENV=production\n"),
    (".envrc", "export A=1\n", "export A=2\nlayout python\n"),
    (".npmrc", "registry=https://a\n", "registry=https://b\n//b/:_authToken=${TOKEN}\n"),
    (".nvmrc", "20\n", "lts/jod\n"),
    (".tool-versions", "nodejs 20.1.0\n", "nodejs 22.1.0\npython 3.12.1\n"),
    ("tsconfig.json", TSCONFIG, TSCONFIG.replace("@/*", "#/*").replace("es2022", "es2023")),
    ("tsconfig.json", TSCONFIG, TSCONFIG.replace("tsconfig.base.json", "tsconfig.node.json")),
    (PNP, pnp(), pnp(STATE.replace("npm:1.0.0", "npm:2.0.0"))),
    (PNP, pnp(), pnp(STATE.replace("29.7.0", "30.0.0"))),
    ("deno.jsonc", "{}", '{"name": "a", /* why */}'),
]
DISHONEST = [
    (".env", "DEBUG=0\n", "DEBUG=0\nPYTEST_ADDOPTS=--collect-only\n"),
    (".env.test", "NODE_OPTIONS=-r ./a.js\n", "NODE_OPTIONS=-r ./b.js\n"),
    (".envrc", "export A=1\n", "export PYTHONPATH=fake\n"),
    (".npmrc", "", '"node-options" = "--require ./x.cjs"\n'),
    (".npmrc", "", "workspace[]=fake\n"),
    (".nvmrc", "20\n", "./fake\n"),
    (".tool-versions", "nodejs 20.1.0\n", "nodejs path:/x/fake\n"),
    ("tsconfig.json", TSCONFIG, TSCONFIG.replace("@/*", "*")),
    ("tsconfig.json", TSCONFIG, TSCONFIG.replace('"@/*"', '"@testing-library/*"')),
    ("tsconfig.json", TSCONFIG, TSCONFIG.replace("./tsconfig.base.json", "./src/paths")),
    ("tsconfig.json", TSCONFIG, '{"ts-node": {"require": ["./x.js"]}}'),
    ("tsconfig.json", TSCONFIG, "/*" * 200_000),
    ("tsconfig.json", TSCONFIG, '"' + '\\"' * 200_000),
    (PNP, pnp(), pnp(STATE.replace(PLACE, "./fake/node_modules/jest/"))),
    (PNP, pnp(), pnp(STATE.replace(PLACE, "./.yarn/cache/left-npm-1-ab.zip/node_modules/jest/"))),
    (PNP, pnp(), pnp(STATE.replace('["jest", "npm:29.7.0"]', '["jest", ["left", "npm:1.0.0"]]'))),
    (PNP, pnp(), pnp(code=CODE + "require('./green.cjs');\n")),
    (PNP, pnp(), pnp(STATE.replace('"packageLocation"', '"place"'))),
    (PNP, pnp(), "const RAW_RUNTIME_STATE =\n'{\\\n" * 20_000),
]


@pytest.mark.parametrize(
    ("same", "path", "before", "after"),
    [(True, *one) for one in HONEST] + [(False, *one) for one in DISHONEST],
    ids=[f"{number} {one[0]}" for number, one in enumerate((*HONEST, *DISHONEST))],
)
def test_what_is_loaded_before_the_tests_is_told_from_the_rest(same: bool, path: str, before: str, after: str) -> None:
    assert settings.is_same(path, before.encode(), after.encode()) is same


def test_mocks_and_archives_of_test_tools_that_stand_there_are_frozen() -> None:
    frozen = ("__mocks__/axios.js", "src/__mocks__/api.ts", ".yarn/cache/@jest-core-npm-30.5.2-2b-9f.zip", ".pnp.cjs")
    others = (".yarn/cache/left-npm-1.0.0-2b-9f.zip", "src/mocks/api.ts", "node_modules/a/__mocks__/b.js", "env.ts")
    assert all(map(discovery.is_discovery, frozen))
    assert not any(map(discovery.is_discovery, others))


def test_variables_that_say_nothing_to_runners_are_not_kept(project: Project) -> None:
    project.write(".env", "TOKEN=hunter2\n")
    project.write("web/.env", "PYTHONPATH=src\n")
    (project.workspace / ".envrc").symlink_to("web/.env")
    project.freeze("tests")
    assert {".env", "web/.env", ".envrc"} & set(project.frozen.by_path) == {"web/.env", ".envrc"}
