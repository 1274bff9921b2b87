"""What decides over tests in each toolchain: laid back when it changed, and left alone when other things did."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from proctor.oracle.tamper import kind, undo
from proctor.words import TamperKind

from ..project import Project

NPM = "https://registry.npmjs.org"
JEST = {"version": "29.7.0", "resolved": f"{NPM}/jest/-/jest-29.7.0.tgz", "integrity": "sha512-jest"}
LEFT = {"version": "1.3.0", "resolved": f"{NPM}/left/-/left-1.3.0.tgz", "integrity": "sha512-left"}
PYPI = 'source = { registry = "https://pypi.org/simple" }\n'
PYTEST_LOCKED = (
    f'[[package]]\nname = "pytest"\nversion = "8.3.0"\n{PYPI}wheels = [{{ url = "u", hash = "sha256:1" }}]\n'
)
RICH_LOCKED = f'[[package]]\nname = "rich"\nversion = "13.0"\n{PYPI}'
CRATES = 'source = "registry+https://github.com/rust-lang/crates.io-index"\n'
PROPTEST_LOCKED = f'[[package]]\nname = "proptest"\nversion = "1.4.0"\n{CRATES}checksum = "ab"\n'
SERDE_LOCKED = f'[[package]]\nname = "serde"\nversion = "1.0.0"\n{CRATES}checksum = "cd"\n'
CARGO = '[package]\nname = "calc"\nversion = "0.1.0"\n\n[dependencies]\n\n[dev-dependencies]\nproptest = "1"\n'
CARGO_TESTS = CARGO + '\n[[test]]\nname = "holds"\npath = "tests/holds.rs"\n'
GO_MOD = "module calc\n\ngo 1.22\n\ntoolchain go1.22.1\n\nrequire github.com/stretchr/testify v1.9.0\n"
GO_SUM = "github.com/stretchr/testify v1.9.0 h1:a=\ngithub.com/stretchr/testify v1.9.0/go.mod h1:b=\n"
GRADLE = """plugins {
    id 'java'
}
dependencies {
    testImplementation 'junit:junit:4.13'
}
test {
    useJUnitPlatform()
}
"""
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><properties><release>21</release></properties>
<dependencies></dependencies>
<build><plugins><plugin><artifactId>maven-surefire-plugin</artifactId></plugin></plugins></build></project>
"""
YARN = f'''# yarn lockfile v1


jest@^29.0.0:
  version "29.7.0"
  resolved "{NPM}/jest.tgz#ab"
  integrity sha512-jest
'''
BERRY = """__metadata:
  version: 8

"jest@npm:^29.0.0":
  version: 29.7.0
  resolution: "jest@npm:29.7.0"
  checksum: ab
"""
PNPM = "lockfileVersion: '9.0'\n\npackages:\n\n  jest@29.7.0:\n    resolution: {integrity: sha512-jest}\n"
DENO = '{"imports": {"@std/assert": "jsr:@std/assert@1"}}'
SCRIPTS = {"test": "jest", "build": "tsc"}


def package(**parts: object) -> str:
    return json.dumps({"name": "calc", **parts})


def npm_lock(**packages: object) -> str:
    installed = {f"node_modules/{name}": one for name, one in packages.items()}
    return json.dumps({"lockfileVersion": 3, "packages": {"": {}, **installed}})


@pytest.fixture
def tree(project: Project, tmp_path: Path) -> Path:
    return tmp_path / "tree"


def copy(project: Project, tree: Path, *protect: str) -> None:
    project.freeze("tests", *protect)
    shutil.copytree(project.workspace, tree, symlinks=True)


HONEST = [
    ("deno.json", DENO, DENO.replace("assert@1", "assert@2").replace("}}", ', "@std/fs": "jsr:@std/fs@1"}}')),
    ("package.json", package(scripts=SCRIPTS), package(scripts={**SCRIPTS, "docs": "typedoc", "preview": "x"})),
    (
        "package.json",
        package(devDependencies={"jest": "^29"}),
        package(devDependencies={"jest": "^29", "left": "file:x"}),
    ),
    ("package.json", package(workspaces=["a"]), package(workspaces=["a", "b"], version="2")),
    (".npmrc", "registry=https://a\n", "registry=https://b\nsave-exact=true\n"),
    ("Cargo.toml", CARGO_TESTS, CARGO_TESTS.replace("[dependencies]\n", '[dependencies]\nserde = "1"\n')),
    ("Cargo.toml", CARGO, CARGO + '[[bin]]\nname = "cli"\n\n[profile.release]\nlto = true\n'),
    ("go.mod", GO_MOD, GO_MOD.replace("go 1.22\n", "go 1.23\n") + "require example.com/left v1.0.0\n"),
    ("go.work", "go 1.22\n\nuse ./a\n", "go 1.22\n\nuse (\n\t./a\n\t./b\n)\n"),
    ("build.gradle", GRADLE, GRADLE.replace("dependencies {", "dependencies {\n    implementation 'x:left:1'")),
    ("settings.gradle", "rootProject.name = 'a'\ninclude 'a'\n", "rootProject.name = 'b'\ninclude 'a', 'b'\n"),
    (
        "pom.xml",
        POM,
        POM.replace("<dependencies>", "<dependencies><dependency><artifactId>left</artifactId></dependency>"),
    ),
    ("requirements.txt", "pytest==8\n", "pytest==8\nrich==13\nleft @ git+https://x\n"),
    ("uv.lock", PYTEST_LOCKED, RICH_LOCKED + PYTEST_LOCKED),
    ("poetry.lock", PYTEST_LOCKED, PYTEST_LOCKED + RICH_LOCKED),
    ("package-lock.json", npm_lock(jest=JEST), npm_lock(jest=JEST, left=LEFT)),
    ("package-lock.json", npm_lock(left=LEFT), npm_lock(jest=JEST)),
    ("yarn.lock", YARN, YARN + f'\nleft@^1:\n  version "1.3.0"\n  resolved "{NPM}/left.tgz#ab"\n'),
    ("yarn.lock", BERRY, BERRY + '\n"left@npm:^1":\n  version: 1.3.0\n  resolution: "left@npm:1.3.0"\n'),
    ("pnpm-lock.yaml", PNPM, PNPM + "\n  left@1.3.0:\n    resolution: {integrity: sha512-left}\n"),
    ("Cargo.lock", PROPTEST_LOCKED, PROPTEST_LOCKED + SERDE_LOCKED),
    ("go.sum", GO_SUM, GO_SUM + "example.com/left v1.0.0 h1:c=\n"),
    ("go.sum", GO_SUM, ""),
]


def names(cases: list[tuple[str, str, str]]) -> list[str]:
    return [f"{number} {path}" for number, (path, *_) in enumerate(cases)]


@pytest.mark.parametrize(("path", "before", "after"), HONEST, ids=names(HONEST))
def test_honest_edits_of_shared_files_stand(project: Project, tree: Path, path: str, before: str, after: str) -> None:
    project.write(path, before)
    copy(project, tree)
    (tree / path).write_text(after)
    assert undo(tree, project.frozen) == ()
    assert (tree / path).read_text() == after


DISHONEST = [
    ("package.json", package(scripts=SCRIPTS), package(scripts={**SCRIPTS, "pretest": "rm -r tests"})),
    ("package.json", package(scripts=SCRIPTS), package(scripts={"test": "jest"})),
    ("package.json", package(devDependencies={"jest": "^29"}), package(devDependencies={"jest": "file:fake"})),
    ("package.json", package(), package(overrides={"expect": "npm:nothing@1"})),
    ("package.json", package(workspaces=["a", "b"]), package(workspaces=["a"])),
    (".npmrc", "registry=https://a\n", "registry=https://a\nscript-shell=/bin/true\n"),
    ("Cargo.toml", CARGO_TESTS, CARGO),
    ("Cargo.toml", CARGO, CARGO.replace("[package]\n", "[package]\nautotests = false\n")),
    ("Cargo.toml", CARGO, CARGO + "[lib]\ntest = false\n"),
    ("Cargo.toml", CARGO, CARGO + "[profile.test]\noverflow-checks = false\n"),
    ("Cargo.toml", CARGO, CARGO.replace('proptest = "1"', 'proptest = { path = "fake" }')),
    ("Cargo.toml", CARGO, CARGO + '[patch.crates-io]\nproptest = { path = "fake" }\n'),
    (".cargo/config.toml", "[build]\n", '[target.x86_64-unknown-linux-gnu]\nrunner = "true"\n'),
    ("rust-toolchain.toml", '[toolchain]\nchannel = "1.80"\n', '[toolchain]\npath = "fake"\n'),
    ("build.rs", "fn main() {}\n", 'fn main() { println!("cargo:rustc-cfg=skip"); }\n'),
    ("go.mod", GO_MOD, GO_MOD.replace("go1.22.1", "go1.99.0")),
    ("go.mod", GO_MOD, GO_MOD + "replace github.com/stretchr/testify => ./fake\n"),
    ("go.work", "go 1.22\n\nuse (\n\t./a\n\t./b\n)\n", "go 1.22\n\nuse ./a\n"),
    (
        "vendor/modules.txt",
        "# github.com/stretchr/testify v1.9.0\n",
        "# github.com/stretchr/testify v1.9.0 => ./fake\n",
    ),
    ("vendor/github.com/stretchr/testify/assert/assertions.go", "package assert\n", "package assert // true\n"),
    ("Cargo.toml", CARGO, CARGO + "[workspace.dependencies]\nproptest = { path = 'fake' }\n"),
    ("Cargo.toml", CARGO, CARGO + "[target.'cfg(unix)'.dev-dependencies]\nproptest = { path = 'fake' }\n"),
    ("deno.json", DENO, DENO.replace("jsr:@std/assert@1", "./fake.ts")),
    ("build.gradle", GRADLE, GRADLE.replace("useJUnitPlatform()", "enabled = false")),
    ("build.gradle", GRADLE, GRADLE.replace("'junit:junit:4.13'", "files('fake-junit.jar')")),
    (
        "build.gradle",
        "// a comment\n" + GRADLE,
        "// a comment\n" + GRADLE.replace("useJUnitPlatform()", "enabled = false"),
    ),
    ("build.gradle", GRADLE, "/*" * 400_000 + GRADLE),
    ("settings.gradle", "include 'a', 'b'\n", "include 'a'\n"),
    ("gradle.properties", "a=1\n", "a=1\nskipTests=true\n"),
    ("gradle/wrapper/gradle-wrapper.properties", "a\n", "b\n"),
    ("pom.xml", POM, POM.replace("<release>21</release>", "<skipTests>true</skipTests>")),
    ("pom.xml", POM, POM.replace("surefire-plugin</artifactId>", "surefire-plugin</artifactId><skip>1</skip>")),
    ("pom.xml", POM, "<!DOCTYPE x>" + POM),
    (".mvn/maven.config", "", "-DskipTests\n"),
    ("rules.mk", "", "SHELL = /bin/true\n"),
    ("tox.toml", "", "x = 1\n"),
    ("nx.json", "{}", '{"x": 1}'),
    ("jest.setup.js", "", "jest.spyOn(global, 'expect')"),
    (".github/workflows/test.yml", "on: push\n", "on: never\n"),
    (".gitlab-ci.yml", "test:\n", "test2:\n"),
    ("Jenkinsfile", "a", "b"),
    (".circleci/config.yml", "a", "b"),
    ("azure-pipelines.yml", "a", "b"),
    ("requirements-dev.txt", "pytest==8\n", "pytest @ file:///fake\n"),
    ("pyproject.toml", "[project]\n", '[project.entry-points.pytest11]\nevil = "evil"\n'),
    ("pyproject.toml", "[project]\n", '[tool.uv.sources]\npytest = { path = "fake" }\n'),
    ("setup.cfg", "", "[options.entry_points]\npytest11 =\n  evil = evil\n"),
    ("uv.lock", PYTEST_LOCKED, PYTEST_LOCKED.replace("8.3.0", "8.2.0")),
    ("uv.lock", PYTEST_LOCKED, PYTEST_LOCKED.replace("sha256:1", "sha256:2")),
    ("uv.lock", RICH_LOCKED, RICH_LOCKED + PYTEST_LOCKED.replace('registry = "https://pypi.org/simple"', 'path = "x"')),
    (
        "Pipfile.lock",
        json.dumps({"default": {"pytest": {"version": "==8"}}}),
        json.dumps({"default": {"pytest": {"path": "x"}}}),
    ),
    ("package-lock.json", npm_lock(jest=JEST), npm_lock(jest={**JEST, "integrity": "sha512-other"})),
    ("package-lock.json", npm_lock(left=LEFT), npm_lock(left=LEFT, jest={"resolved": "fake", "link": True})),
    ("npm-shrinkwrap.json", npm_lock(jest=JEST), "[" * 100_000),
    ("yarn.lock", YARN, YARN.replace(f"{NPM}/jest", "https://elsewhere/jest")),
    ("yarn.lock", BERRY, BERRY.replace('"jest@npm:29.7.0"', '"nothing@npm:1.0.0"')),
    ("pnpm-lock.yaml", PNPM, PNPM.replace("sha512-jest", "sha512-other")),
    ("pnpm-lock.yaml", PNPM, PNPM.replace("sha512-jest", "sha512-jest, tarball: https://elsewhere/x.tgz")),
    ("pnpm-lock.yaml", PNPM, f"  {'a/' * 400_000}:\n" + PNPM.replace("sha512-jest", "sha512-other")),
    ("uv.lock", PYTEST_LOCKED, "[[package]]\nversion = 1\n"),
    (
        "bun.lock",
        '  "jest": ["jest@29.7.0", "", {}, "sha512-a"],\n',
        '  "jest": ["jest@29.7.0", "", {}, "sha512-b"],\n',
    ),
    ("pyproject.toml", "[tool.tox]\n", "tool.pytest." + "a." * 100_000 + "a = 1\n"),
    ("Cargo.lock", PROPTEST_LOCKED, PROPTEST_LOCKED.replace('"ab"', '"ef"')),
    ("go.sum", GO_SUM, GO_SUM.replace("h1:a=", "h1:z=")),
]


@pytest.mark.parametrize(("path", "before", "after"), DISHONEST, ids=names(DISHONEST))
def test_what_decides_over_tests_is_laid_back(project: Project, tree: Path, path: str, before: str, after: str) -> None:
    project.write(path, before)
    copy(project, tree)
    (tree / path).write_text(after)
    assert undo(tree, project.frozen) == (path,)
    assert (tree / path).read_text() == before
    assert kind(path, project.frozen) is TamperKind.CHANGED


def test_another_version_of_a_runner_is_honest_only_where_the_manifest_asks_for_it_and_from_where_packages_came(
    project: Project, tree: Path
) -> None:
    project.write("package.json", package(devDependencies={"jest": "^29"}))
    project.write("package-lock.json", npm_lock(jest=JEST, left=LEFT))
    copy(project, tree)
    newer = {**JEST, "version": "30.0.0", "integrity": "sha512-newer"}
    (tree / "package-lock.json").write_text(npm_lock(jest=newer, left=LEFT))
    assert undo(tree, project.frozen) == ("package-lock.json",)
    (tree / "package.json").write_text(package(devDependencies={"jest": "^30"}))
    (tree / "package-lock.json").write_text(npm_lock(jest=newer, left=LEFT))
    assert undo(tree, project.frozen) == ()
    (tree / "package-lock.json").write_text(npm_lock(jest={**newer, "resolved": "https://elsewhere/x.tgz"}, left=LEFT))
    assert undo(tree, project.frozen) == ("package-lock.json",)


def test_new_files_count_where_checks_start(project: Project, tree: Path) -> None:
    project.write("web/package.json", package(scripts=SCRIPTS))
    project.write("calc/calc_test.go", "package calc\n")
    copy(project, tree, "calc/calc_test.go")
    honest = {
        "docs/jest.config.js": "",
        "packages/new/Cargo.toml": "[[test]]\nname = 'x'\n",
        "package-lock.json": npm_lock(jest=JEST),
        ".github/workflows/new.yml": "",
        "calc/more_test.go": "package calc\n\nfunc TestMore(t *testing.T) {}\n",
        "other/main_test.go": "package other\n\nfunc TestMain(m *testing.M) {}\n",
        ".npmrc": "save-exact=true\n",
        "src/calc.egg-info/entry_points.txt": "[console_scripts]\ncalc = calc:main\n",
        "old.egg-info": "Metadata-Version: 1.0\n",
        ".env": "DEBUG=1\nPATHS=a:b\n",
        "web/.env.example": "NODE_OPTIONS=--max-old-space-size=4096\n",
        ".python-version": "3.12\n",
        "tsconfig.json": '{"compilerOptions": {"baseUrl": ".", "paths": {"@/*": ["src/*"]}}}',
        "__mocks__/axios.js": "",
    }
    dishonest = {
        "node_modules/.bin/node": "",
        "web/jest.config.js": "",
        "web/.npmrc": "script-shell=/bin/true\n",
        "web/.env.local": "export NODE_OPTIONS='--require ./green.cjs'\n",
        "web/.python-version": "./fake-python\n",
        "web/tsconfig.json": '{"compilerOptions": {"paths": {"vitest": ["./fake.ts"]}}}',
        "web/__mocks__/@testing-library/react.js": "",
        ".cargo/config.toml": "",
        "build.rs": "",
        "extra.mk": "",
        "buildSrc/build.gradle": "",
        "yarn.lock": BERRY.replace("jest@npm:29.7.0", "jest@file:fake"),
        "calc/main_test.go": "package calc\n\nfunc TestMain(m *testing.M) { os.Exit(0) }\n",
        "src/calc.dist-info/entry_points.txt": "[a]\nb = c\n  [pytest11]\n  calc = calc.testing\n",
    }
    for path, text in {**honest, **dishonest}.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)
    assert set(undo(tree, project.frozen)) == set(dishonest)
    assert all(kind(path, project.frozen) is TamperKind.RUNNER for path in dishonest)


def test_what_frozen_files_name_is_frozen_if_it_is_called_like_a_check(project: Project) -> None:
    named = {
        "check.sh": "bash scripts/run-tests.sh && python app.py --selftest && sh deploy.sh\n",
        "scripts/run-tests.sh": '. "$(dirname "$0")/lib.sh"; . ./work.sh\nnode ci/report.js; python check_links.py\n',
        "scripts/lib.sh": "",
        "ci/report.js": "",
        "Makefile": "include build/rules.mk\n-include absent.mk\ntest:\n\t./tests.sh\n\tbash ../outside/test.sh\n",
        "build/rules.mk": "\tpytest -c build/py.cfg \\\n  && eslint -c lint.json\n",
        "package.json": '{"scripts": {"t": "nyc mocha -r ./init.js --config=build/m.json && node -r ./work.js a.js"}}',
        "build/py.cfg": "",
        "init.js": "",
        "build/m.json": "",
        "tests.sh": "",
        "jest.config.js": "x = {setupFiles: ['<rootDir>/src/polyfill.js'], moduleNameMapper: {a: './src/a.js'}}",
        "src/polyfill.js": "",
        "conftest.py": "pytest_plugins = ['pytester', 'tests.fixtures', 'pytest_shop']\n",
        "tests/fixtures.py": "",
        "pytest.ini": "[pytest]\naddopts = -q -p no:cacheprovider -p own_plugin --path=x\n",
        "own_plugin.py": "",
    }
    work = ("app.py", "deploy.sh", "check_links.py", "src/a.js", "pytest_shop.py", "lint.json", "work.js", "work.sh")
    for path, text in named.items():
        project.write(path, text)
    for path in work:
        project.write(path, "")
    project.freeze(checks=[["./check.sh"]])
    assert set(project.frozen.by_path) == set(named)


def test_go_tests_of_a_protected_package_are_frozen_with_their_data(project: Project) -> None:
    for path in ("calc/calc_test.go", "calc/more_test.go", "calc/calc.go", "calc/testdata/x", "other/other_test.go"):
        project.write(path, "")
    project.freeze("calc/calc_test.go")
    assert set(project.frozen.by_path) == {"calc/calc_test.go", "calc/more_test.go", "calc/testdata/x"}
