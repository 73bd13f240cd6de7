"""Tables of the programs that agents call, by the files that they write. Pure.

An unlisted program writes what its arguments name. The tables list frequent exceptions: programs that only read what
they name, and programs that write what they do not name.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from quire_daemon.tools.evidence.targets import Layout

READERS: Final = frozenset(
    {":", "[", "ack", "actionlint", "ag", "alias", "bandit", "basedpyright", "basename", "bat", "cloc", "batcat", "bc"}
    | {"bind", "break", "cal", "cat", "cd", "checkov", "cksum", "clear", "cmp", "codespell-check", "column", "comm"}
    | {"command", "commitlint", "continue", "coverage", "ctest", "cut", "cypress", "date", "declare", "df", "diff"}
    | {"dig", "dirname", "docker", "du", "echo", "egrep", "env", "eval", "exit", "export", "expr", "false", "fg"}
    | {"fgrep", "file", "flake8", "flask", "fold", "free", "gdb", "gh", "glab", "golangci-lint", "grep", "groups"}
    | {"gunicorn", "hadolint", "hash", "head", "help", "hexdump", "history", "host", "hostname", "htop", "http-server"}
    | {"hyperfine", "id", "ifconfig", "ip", "jasmine", "jobs", "join", "jq", "json-server", "karma", "kill", "kubectl"}
    | {"less", "let", "lldb", "local", "locale", "ls", "lsof", "ltrace", "man", "mapfile", "md5sum", "mocha", "more"}
    | {"mypy", "netstat", "nl", "nodemon", "nose2", "nproc", "numfmt", "od", "paste", "perf", "pgrep", "phpstan"}
    | {"phpunit", "ping", "pkill", "podman", "popd", "printenv", "printf", "ps", "pushd", "pwd", "py.test"}
    | {"pydocstyle", "pylint", "pyre", "pyright", "pytest", "quire", "read", "readarray", "readlink", "readonly"}
    | {"realpath", "return", "rev", "rg", "rspec", "rust-analyzer", "seq", "serve", "set", "sha1sum", "sha256sum"}
    | {"sha512sum", "shellcheck", "shift", "shopt", "sleep", "source", "ssh", "stat", "staticcheck", "strace"}
    | {"strings", "sum", "systemctl", "tac", "tail", "tap", "test", "tflint", "top", "tr", "trap", "tree", "true"}
    | {"tsd", "type", "typeset", "ulimit", "umask", "unalias", "uname", "uniq", "unittest", "unset", "uptime"}
    | {"uvicorn", "valgrind", "vmstat", "vulture", "w", "wait", "watch", "wc", "whereis", "which", "who", "whoami"}
    | {"xxd", "yamllint", "yes", "zcat", "zgrep"}
)
"""Programs that write nothing but redirected output."""

QUIET: Final = frozenset({"git"})
"""Programs with another evidence: git moves others' work, and the journal knows when."""

OPERANDS: Final = frozenset(
    {"chgrp", "chmod", "chown", "dos2unix", "ed", "ex", "mkdir", "mkfifo", "mv", "rename", "rm", "rmdir"}
    | {"shred", "sponge", "tee", "touch", "trash", "trash-put", "truncate", "unix2dos", "unlink"}
)
"""Programs that write every file they name, and the content of folders."""

OUTPUT: Final = frozenset(
    {"ar", "as", "c++", "cc", "clang", "clang++", "dot", "g++", "gcc", "ghc", "jar", "javac", "kotlinc", "ld", "nasm"}
    | {"objcopy", "ocamlc", "openssl", "pandoc", "pdftotext", "rustc", "sort", "swiftc", "tsort", "wat2wasm", "xmllint"}
)
"""Programs that write only an option's file (`-o FILE`, `--output=FILE`)."""

LAST: Final = frozenset({"convert", "cp", "gcp", "gmv", "install", "ln", "magick", "rsync", "scp"})
"""Programs that write the last file they name, or files with the other names in that folder."""

WRAPPERS: Final[dict[str, frozenset[str]]] = {
    "builtin": frozenset(),
    "bundle exec": frozenset(),
    "bunx": frozenset({"-p", "--package"}),
    "caffeinate": frozenset(),
    "chronic": frozenset(),
    "command": frozenset(),
    "conda run": frozenset({"-n", "--name", "-p", "--prefix"}),
    "corepack": frozenset(),
    "doas": frozenset({"-u"}),
    "dotenv": frozenset({"-e", "-f"}),
    "env": frozenset({"-u", "--unset", "-C", "--chdir", "-S"}),
    "exec": frozenset({"-a"}),
    "hatch run": frozenset(),
    "ionice": frozenset({"-c", "-n"}),
    "mise exec": frozenset(),
    "nice": frozenset({"-n"}),
    "nohup": frozenset(),
    "npm exec": frozenset({"-p", "--package"}),
    "npx": frozenset({"-p", "--package"}),
    "pdm run": frozenset(),
    "pipenv run": frozenset(),
    "pipx run": frozenset({"--spec"}),
    "pnpm dlx": frozenset(),
    "pnpm exec": frozenset(),
    "pnpx": frozenset(),
    "poetry run": frozenset(),
    "rye run": frozenset(),
    "setsid": frozenset(),
    "stdbuf": frozenset({"-i", "-o", "-e"}),
    "sudo": frozenset({"-u", "-g", "-C"}),
    "time": frozenset({"-f", "-o"}),
    "timeout": frozenset({"-s", "--signal", "-k", "--kill-after"}),
    "unbuffer": frozenset(),
    "uv run": frozenset({"--with", "-p", "--python", "--extra", "--group", "--package", "--project", "--directory"}),
    "uv tool run": frozenset({"--with", "--from", "-p", "--python"}),
    "uvx": frozenset({"--with", "--from", "-p", "--python"}),
    "xvfb-run": frozenset({"-n", "-s", "-e"}),
    "yarn dlx": frozenset(),
    "yarn exec": frozenset(),
}
"""Programs that run another program: call → options with values."""

SHELLS: Final = frozenset({"ash", "bash", "dash", "fish", "ksh", "sh", "zsh"})
INTERPRETERS: Final[dict[str, frozenset[str]]] = {
    "bun": frozenset({"-e", "--eval", "-p", "--print"}),
    "deno": frozenset({"-e"}),
    "lua": frozenset({"-e"}),
    "node": frozenset({"-e", "--eval", "-p", "--print"}),
    "osascript": frozenset({"-e"}),
    "perl": frozenset({"-e", "-E"}),
    "php": frozenset({"-r"}),
    "pypy": frozenset({"-c"}),
    "python": frozenset({"-c"}),
    "Rscript": frozenset({"-e"}),
    "ruby": frozenset({"-e"}),
    "ts-node": frozenset({"-e", "--eval"}),
    "tsx": frozenset({"-e", "--eval"}),
}
"""Interpreters of a file, of an option's text (these options), or of a here-document."""

WRITES: Final = re.compile(
    r"write|dump|save|remove|unlink|rmtree|rename|replace|copy|move|touch|mkdir|truncate|append|chmod|symlink"
    r"|File\.open|file_put_contents|createWriteStream|to_(?:csv|json|parquet|excel|yaml)"
    r"|[\"'](?:[wax]b?\+?t?|r\+b?|[wax]t)[\"']|>>?\s*[\"']|open\s*\([^)]*[\"']>",
)
"""A program text without a match writes nothing."""

DOES: Final = re.compile(
    r"fmt|format|prettier|fix|gen|proto|codegen|docs?\b|snap|update|upgrade|install|setup|init|clean|migrat|lock|vendor"
    r"|bump|release|version|sync|scaffold|i18n|locale|messages|bootstrap|compile-req|write|new\b|create|rename"
)
"""Names of a project's targets or scripts that change files. Names of tests and servers do not match."""

FORMATS: Final = re.compile(r"fmt|format|prettier|fix|lint|style")
"""Names of targets that change layout."""

RUNNERS: Final[dict[str, frozenset[str]]] = {
    "bun run": frozenset(),
    "composer run": frozenset(),
    "doit": frozenset(),
    "ember": frozenset(),
    "gmake": frozenset({"-C", "-f", "-j", "-o", "-W", "-I"}),
    "gradle": frozenset({"-p", "-b"}),
    "gradlew": frozenset({"-p", "-b"}),
    "grunt": frozenset(),
    "gulp": frozenset(),
    "invoke": frozenset(),
    "just": frozenset({"-f", "-d"}),
    "lerna run": frozenset(),
    "make": frozenset({"-C", "-f", "-j", "-o", "-W", "-I"}),
    "mise run": frozenset(),
    "mvn": frozenset({"-f", "-pl", "-P"}),
    "ninja": frozenset({"-C", "-f", "-j"}),
    "nox": frozenset(),
    "npm run": frozenset({"--prefix", "-w", "--workspace"}),
    "npm run-script": frozenset({"--prefix", "-w", "--workspace"}),
    "nx": frozenset(),
    "pnpm run": frozenset({"-C", "--filter"}),
    "rake": frozenset(),
    "task": frozenset({"-d", "-t"}),
    "tox": frozenset({"-e"}),
    "turbo": frozenset(),
    "yarn run": frozenset(),
}
"""Programs that run a project's targets, which may write any file if the name says so (`DOES`)."""

_PY: Final = ("*.py", "*.pyi", "*.ipynb")
_WEB: Final = (
    *("*.js", "*.jsx", "*.mjs", "*.cjs", "*.ts", "*.tsx", "*.mts", "*.cts", "*.vue", "*.svelte", "*.astro"),
    *("*.json", "*.jsonc", "*.json5", "*.css", "*.scss", "*.sass", "*.less", "*.html", "*.md", "*.mdx", "*.yaml"),
    *("*.yml", "*.graphql", "*.gql", "*.hbs"),
)
_C: Final = (
    "*.c",
    "*.h",
    "*.cc",
    "*.cpp",
    "*.cxx",
    "*.hh",
    "*.hpp",
    "*.hxx",
    "*.m",
    "*.mm",
    "*.proto",
    "*.java",
    "*.cs",
)
_JVM: Final = ("*.java", "*.kt", "*.kts", "*.scala", "*.sbt")
_NPM: Final = (
    *("package.json", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "pnpm-workspace.yaml", "yarn.lock"),
    *("bun.lock", "bun.lockb", ".npmrc", ".yarnrc.yml", ".pnp.*", ".yarn/**", "node_modules/**"),
)
_PIP: Final = (
    *("pyproject.toml", "uv.lock", "poetry.lock", "pdm.lock", "pixi.lock", "pixi.toml", "Pipfile", "Pipfile.lock"),
    *("requirements*.txt", ".python-version", "*.egg-info/**", ".venv/**", "venv/**"),
)
LANGUAGES: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("bun", "ember", "grunt", "gulp", "lerna", "npm", "nx", "pnpm", "turbo", "yarn"), _WEB),
    **dict.fromkeys(("doit", "invoke", "nox", "tox"), _PY),
    **dict.fromkeys(("gradle", "gradlew", "mvn"), _JVM),
    "composer": ("*.php",),
    "rake": ("*.rb", "*.erb"),
}
"""Runners of one language's scripts, whose files they most likely write."""

_CARGO: Final = ("Cargo.toml", "Cargo.lock", "vendor/**", "target/**")
_GO: Final = ("go.mod", "go.sum", "go.work", "go.work.sum", "vendor/**")
_BUILT: Final = (
    "dist/**",
    "build/**",
    "out/**",
    "lib/**",
    ".next/**",
    ".nuxt/**",
    "public/**",
    "*.tsbuildinfo",
    "*.map",
)
_NEW: Final = (
    "install",
    "i",
    "ci",
    "add",
    "remove",
    "rm",
    "uninstall",
    "un",
    "update",
    "up",
    "upgrade",
    "dedupe",
    "link",
)


class CallForm(NamedTuple):
    """The writes of one form of call."""

    called: str  # program and subcommands
    files: tuple[str, ...] = ()  # globs of written files; empty: any
    needs: tuple[str, ...] = ()  # one of these options is required
    unless: tuple[str, ...] = ()  # options that make it read-only
    named: bool = False  # writes the named paths and below; by default, below its folder
    layout: Layout = "never"


def _formatter(called: str, files: tuple[str, ...], needs: str = "", unless: str = "--check --diff") -> CallForm:
    layout: Layout = "only" if called in ONLY_LAYOUT else "maybe"
    return CallForm(called, files, tuple(needs.split()), tuple(unless.split()), True, layout)


ONLY_LAYOUT: Final = frozenset(
    {"alejandra", "autopep8", "biome format", "black", "buf format", "cargo fmt", "clang-format", "cmake-format"}
    | {"dart format", "deno fmt", "dprint fmt", "elm-format", "fourmolu", "gleam format", "go fmt", "gofmt", "gofumpt"}
    | {"google-java-format", "mix format", "nixfmt", "nixpkgs-fmt", "ocamlformat", "ormolu", "prettier", "ruff format"}
    | {"rustfmt", "scalafmt", "shfmt", "stylua", "taplo fmt", "taplo format", "terraform fmt", "tofu fmt", "yapf"}
    | {"zig fmt"}
)
"""Formatters that change only blanks, line breaks, quotes, brackets and the order of lines."""


FORMATTERS: Final = (
    _formatter("alejandra", ("*.nix",), unless="-c --check"),
    _formatter("autoflake", _PY, "-i --in-place"),
    _formatter("autopep8", _PY, "-i --in-place"),
    _formatter("biome check", _WEB, "--write --fix --apply --apply-unsafe"),
    _formatter("biome format", _WEB, "--write --fix"),
    _formatter("biome lint", _WEB, "--write --fix --apply --apply-unsafe"),
    _formatter("black", _PY),
    _formatter("buf format", ("*.proto",), "-w --write"),
    _formatter("buildifier", ("BUILD", "BUILD.bazel", "*.bzl", "WORKSPACE"), unless="-mode=check -mode=diff"),
    _formatter("cargo clippy", ("*.rs",), "--fix"),
    _formatter("cargo fix", ("*.rs",)),
    _formatter("cargo fmt", ("*.rs",)),
    _formatter("clang-format", _C, "-i --in-place"),
    _formatter("clang-tidy", _C, "-fix --fix -fix-errors --fix-errors"),
    _formatter("cmake-format", ("CMakeLists.txt", "*.cmake"), "-i --in-place"),
    _formatter("codespell", (), "-w --write-changes"),
    _formatter("dart fix", ("*.dart",), "--apply"),
    _formatter("dart format", ("*.dart",), unless="-o --output --set-exit-if-changed"),
    _formatter("deno fmt", _WEB),
    _formatter("docformatter", _PY, "-i --in-place"),
    _formatter("dotnet format", ("*.cs", "*.vb", "*.fs"), unless="--verify-no-changes"),
    _formatter("dprint fmt", ()),
    _formatter("eslint", _WEB, "--fix"),
    _formatter("elm-format", ("*.elm",), "--yes"),
    _formatter("fourmolu", ("*.hs",), "-i --mode=inplace"),
    _formatter("gleam format", ("*.gleam",)),
    _formatter("go fix", ("*.go",)),
    _formatter("go fmt", ("*.go",)),
    _formatter("gofmt", ("*.go",), "-w"),
    _formatter("gofumpt", ("*.go",), "-w"),
    _formatter("goimports", ("*.go",), "-w"),
    _formatter("golangci-lint run", ("*.go",), "--fix"),
    _formatter("google-java-format", _JVM, "-i -r --replace"),
    _formatter("isort", _PY, unless="--check --check-only -c --diff"),
    _formatter("ktlint", _JVM, "-F --format"),
    _formatter("latexindent", ("*.tex",), "-w --overwrite"),
    _formatter("markdownlint", ("*.md",), "--fix -f"),
    _formatter("markdownlint-cli2", ("*.md",), "--fix"),
    _formatter("mdformat", ("*.md",)),
    _formatter("mix format", ("*.ex", "*.exs"), unless="--check-formatted"),
    _formatter("next lint", _WEB, "--fix"),
    _formatter("ng lint", _WEB, "--fix"),
    _formatter("nixfmt", ("*.nix",), unless="-c --check"),
    _formatter("nixpkgs-fmt", ("*.nix",)),
    _formatter("ocamlformat", ("*.ml", "*.mli"), "-i --inplace"),
    _formatter("ormolu", ("*.hs",), "-i --mode=inplace"),
    _formatter("oxlint", _WEB, "--fix"),
    _formatter("perltidy", ("*.pl", "*.pm"), "-b"),
    _formatter("php-cs-fixer fix", ("*.php",), unless="--dry-run"),
    _formatter("phpcbf", ("*.php",)),
    _formatter("pint", ("*.php",), unless="--test"),
    _formatter("pre-commit run", ()),
    _formatter("prek run", ()),
    _formatter("prettier", _WEB, "-w --write"),
    _formatter("pyupgrade", _PY, unless=""),
    _formatter("rubocop", ("*.rb", "Rakefile", "Gemfile"), "-a -A --autocorrect --autocorrect-all --auto-correct"),
    _formatter("ruff check", _PY, "--fix --fix-only --unsafe-fixes", "--diff"),
    _formatter("ruff format", _PY),
    _formatter("rustfmt", ("*.rs",)),
    _formatter("scalafmt", _JVM, unless="--check --test"),
    _formatter("shfmt", ("*.sh", "*.bash"), "-w"),
    _formatter("sqlfluff fix", ("*.sql",)),
    _formatter("standard", _WEB, "--fix"),
    _formatter("standardrb", ("*.rb",), "--fix"),
    _formatter("stylelint", _WEB, "--fix"),
    _formatter("stylua", ("*.lua",)),
    _formatter("swiftformat", ("*.swift",), unless="--lint --dryrun"),
    _formatter("taplo fmt", ("*.toml",)),
    _formatter("taplo format", ("*.toml",)),
    _formatter("terraform fmt", ("*.tf", "*.tfvars"), unless="-check"),
    _formatter("tofu fmt", ("*.tf", "*.tfvars"), unless="-check"),
    _formatter("ts-standard", _WEB, "--fix"),
    _formatter("xo", _WEB, "--fix"),
    _formatter("yamlfmt", ("*.yaml", "*.yml"), unless="-lint -dry"),
    _formatter("yapf", _PY, "-i --in-place", "-d --diff"),
    _formatter("zig fmt", ("*.zig",)),
)
"""Programs that change the layout of the files they name, or of all files below their folder."""

GENERATORS: Final = (
    CallForm("alembic revision", ("**/versions/*.py",)),
    CallForm("ant", _BUILT),
    CallForm("autoreconf", ("configure", "*.in", "aclocal.m4", "config.*", "Makefile.in")),
    CallForm("babel", _BUILT),
    CallForm("bison", ("*.c", "*.h", "*.cc", "*.hh", "*.tab.*")),
    CallForm("buf generate", ("*_pb2*.py", "*_pb2*.pyi", "*.pb.*", "*_pb.*", "*_grpc*", "gen/**")),
    CallForm("bumpversion"),
    CallForm("bump-my-version"),
    CallForm("changeset", (".changeset/**", "CHANGELOG.md", "package.json")),
    CallForm("cmake", ("CMakeCache.txt", "CMakeFiles/**", "Makefile", "*.cmake", "build*/**", "compile_commands.json")),
    CallForm("configure", ("Makefile", "config.*", "*.h", "*.mk")),
    CallForm("cookiecutter"),
    CallForm("copier"),
    CallForm("create-next-app"),
    CallForm("create-react-app"),
    CallForm("create-vite"),
    CallForm("cz bump"),
    CallForm("degit"),
    CallForm("django-admin"),
    CallForm("doxygen", ("html/**", "latex/**", "docs/**", "Doxyfile")),
    CallForm("esbuild", _BUILT),
    CallForm("flutter create"),
    CallForm("flutter pub", ("pubspec.*", ".dart_tool/**")),
    CallForm("go generate"),
    CallForm("graphql-codegen"),
    CallForm("hugo new"),
    CallForm("jekyll new"),
    CallForm("jest", ("*.snap", "**/__snapshots__/**", "coverage/**"), ("-u", "--updateSnapshot", "--ci=false")),
    CallForm("manage.py makemessages", ("*.po", "*.pot")),
    CallForm("manage.py makemigrations", ("**/migrations/*.py",)),
    CallForm("manage.py startapp"),
    CallForm("manage.py startproject"),
    CallForm("mkdocs build", ("site/**",)),
    CallForm("mockgen", ("*mock*.go", "mocks/**")),
    CallForm("ng add"),
    CallForm("ng generate"),
    CallForm("ng new"),
    CallForm("openapi-generator"),
    CallForm("openapi-generator-cli"),
    CallForm("openapi-typescript", ("*.ts",)),
    CallForm("orval"),
    CallForm("parcel", _BUILT),
    CallForm("playwright test", ("**/*-snapshots/**", "*.png"), ("-u", "--update-snapshots")),
    CallForm("plop"),
    CallForm("pod", ("Podfile", "Podfile.lock", "Pods/**", "*.xcworkspace/**", "*.pbxproj")),
    CallForm("prisma", ("prisma/**", "*.prisma", "**/generated/**")),
    CallForm("protoc", ("*_pb2*.py", "*_pb2*.pyi", "*.pb.*", "*_pb.*", "*_grpc*", "*.java", "*.swift")),
    CallForm("pytest", ("*.snap", "**/__snapshots__/**", "*.ambr"), ("--snapshot-update", "--inline-snapshot=fix")),
    CallForm("quicktype"),
    CallForm("rails destroy"),
    CallForm("rails g"),
    CallForm("rails generate"),
    CallForm("rails new"),
    CallForm("rollup", _BUILT),
    CallForm("semantic-release"),
    CallForm("setup.py", ("build/**", "dist/**", "*.egg-info/**", "*.so", "*.c")),
    CallForm("sphinx-apidoc", ("*.rst",)),
    CallForm("sphinx-build", ("_build/**", "build/**", "html/**")),
    CallForm("sqlc generate", ("*.go", "*.py", "*.ts", "*.kt")),
    CallForm("sqlx prepare", (".sqlx/**", "sqlx-data.json")),
    CallForm("standard-version"),
    CallForm("stringer", ("*_string.go",)),
    CallForm("svgr"),
    CallForm("swc", _BUILT),
    CallForm("tailwindcss", ("*.css",)),
    CallForm("tree-sitter generate", ("src/**", "bindings/**", "*.json")),
    CallForm("tsc", ("*.js", "*.mjs", "*.cjs", "*.d.ts", "*.map", "*.tsbuildinfo"), unless=("--noEmit",)),
    CallForm("tsup", _BUILT),
    CallForm("vite build", _BUILT),
    CallForm("vitest", ("*.snap", "**/__snapshots__/**"), ("-u", "--update")),
    CallForm("webpack", _BUILT),
    CallForm("wire", ("wire_gen.go",)),
    CallForm("xcodegen", ("*.xcodeproj/**",)),
    CallForm("yacc", ("*.c", "*.h")),
)
"""Programs that make files without naming them."""

UNPACKERS: Final = frozenset({"7z", "bsdtar", "cpio", "patch", "tar", "unar", "unzip"})
"""Programs that make the files in an archive or a patch."""

PACKAGERS: Final = (
    *(CallForm(f"{npm} {verb}", _NPM) for npm in ("npm", "pnpm", "bun", "yarn") for verb in _NEW),
    *(CallForm(f"{npm} init") for npm in ("npm", "pnpm", "yarn", "bun")),
    *(CallForm(f"{npm} create") for npm in ("npm", "pnpm", "yarn", "bun")),
    *(CallForm(f"npm {verb}", _NPM) for verb in ("audit", "version", "pkg", "shrinkwrap", "prune", "set-script")),
    *(CallForm(f"pnpm {verb}", _NPM) for verb in ("import", "patch", "prune")),
    *(CallForm(f"pip {verb}", _PIP) for verb in ("install", "uninstall", "wheel")),
    *(CallForm(f"uv {verb}", _PIP) for verb in ("add", "remove", "sync", "lock", "pip", "venv", "version", "python")),
    *(CallForm(f"uv {verb}") for verb in ("init",)),
    *(CallForm(f"poetry {verb}", _PIP) for verb in ("add", "remove", "install", "update", "lock", "version")),
    *(CallForm(f"poetry {verb}") for verb in ("init", "new")),
    *(CallForm(f"pdm {verb}", _PIP) for verb in ("add", "remove", "install", "update", "lock", "sync")),
    *(CallForm(f"pipenv {verb}", _PIP) for verb in ("install", "uninstall", "update", "lock", "sync")),
    *(CallForm(f"cargo {verb}", _CARGO) for verb in ("add", "remove", "rm", "update", "fetch", "vendor", "build", "b")),
    *(CallForm(f"cargo {verb}", _CARGO) for verb in ("check", "c", "test", "t", "run", "r", "clippy", "bench", "doc")),
    *(CallForm(f"cargo {verb}", _CARGO) for verb in ("generate-lockfile", "set-version")),
    *(CallForm(f"cargo {verb}") for verb in ("init", "new", "insta", "release")),
    *(CallForm(f"go {verb}", _GO) for verb in ("mod", "get", "work", "build", "install", "test", "run", "vet")),
    *(
        CallForm(f"bundle {verb}", ("Gemfile", "Gemfile.lock", "vendor/**"))
        for verb in ("install", "update", "add", "lock")
    ),
    *(CallForm(f"composer {verb}", ("composer.*", "vendor/**")) for verb in ("install", "update", "require", "remove")),
    *(
        CallForm(f"dotnet {verb}", ("*.csproj", "*.sln", "packages.lock.json"))
        for verb in ("add", "remove", "sln", "restore")
    ),
    CallForm("dotnet new"),
    CallForm("mix deps.get", ("mix.lock", "deps/**")),
    CallForm("pip-compile", ("requirements*.txt",)),
    CallForm("nix flake", ("flake.lock", "flake.nix")),
    CallForm("terraform init", (".terraform*",)),
    CallForm("swift package", ("Package.*", ".build/**")),
    CallForm("virtualenv", ("**/bin/**", "**/lib/**", "pyvenv.cfg")),
    CallForm("corepack", ("package.json",)),
)
"""Programs that change a project's dependencies and their files."""


def _by_program(*tables: tuple[CallForm, ...]) -> dict[str, tuple[CallForm, ...]]:
    found: dict[str, list[CallForm]] = {}
    for one in (one for table in tables for one in table):
        found.setdefault(one.called.partition(" ")[0], []).append(one)
    return {name: tuple(rows) for name, rows in found.items()}


CHANGES: Final = _by_program(FORMATTERS, GENERATORS, PACKAGERS)
"""All forms of call that write files without naming them."""
