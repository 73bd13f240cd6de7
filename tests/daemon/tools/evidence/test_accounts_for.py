"""Which files a command line accounts for. What it does not account for is left to whoever else may have written it."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from quire_daemon.tools.evidence.command_line import claims

ROOT = "/home/ada/work"

WRITTEN = [
    # what its output is sent into
    ("echo hi >> data.txt", "data.txt"),
    ("sleep 10; echo hi >> data.txt", "data.txt"),
    ("cat a b >src/all.txt", "src/all.txt"),
    ("cat <<'EOF' > src/app.py\nprint('x')\nEOF", "src/app.py"),
    ("cat > src/app.py <<-EOF\n\tx = 1\n\tEOF\necho done", "src/app.py"),
    ("make 2>&1 | tee log/build.log", "log/build.log"),
    ("python gen.py &> out.txt", "out.txt"),
    ("printf '%s\\n' a >| 'my file.txt'", "my file.txt"),
    ('echo x > "docs/my file.md"', "docs/my file.md"),
    ("echo x > docs/my\\ file.md", "docs/my file.md"),
    ("{ echo a; echo b; } > both.txt", "both.txt"),
    ("(cd sub && echo a > f.txt)", "sub/f.txt"),
    ("cd sub && echo a > f.txt", "sub/f.txt"),
    ("cd sub; cd ..; echo a > f.txt", "f.txt"),
    ("pushd sub >/dev/null && echo a > f.txt; popd", "sub/f.txt"),
    (f"cd {ROOT} && echo a > src/f.txt", "src/f.txt"),
    (f"echo a > {ROOT}/src/f.txt", "src/f.txt"),
    ("F=src/f.txt; echo a > $F", "src/f.txt"),
    ('DIR=src\necho a > "$DIR/f.txt"', "src/f.txt"),
    ('echo a > "$(pwd)/f.txt"', "f.txt"),
    ('echo a > "$(git rev-parse --show-toplevel)/src/f.txt"', "src/f.txt"),
    ('echo a > "$WHO/config.toml"', "etc/config.toml"),
    ("if true; then echo a > f.txt; else echo b > g.txt; fi", "g.txt"),
    ("for i in 1 2 3; do echo $i > part$i.txt; done", "part2.txt"),
    ("for i in {1..3}; do echo $i > part$i.txt; done", "part3.txt"),
    ("case $x in a) echo 1 > f.txt ;; *) echo 2 > g.txt ;; esac", "g.txt"),
    ("save() { echo a > f.txt; }; save", "f.txt"),
    ("while read l; do echo $l >> f.txt; done < in.txt", "f.txt"),
    ("test -f x || echo a > f.txt &", "f.txt"),
    # editors in place
    ("sed -i s/a/b/ src/app.py", "src/app.py"),
    ("sed -i.bak -e 's/a/b/' -e 's/c d/e/' src/app.py lib/x.py", "lib/x.py"),
    ("sed -i '' 's|a|b|g' app.py", "src/app.py"),
    ("sed -Ei 's/(a)/b/' src/*.py", "src/app.py"),
    ("sed --in-place=.orig '3d' a.txt", "a.txt"),
    ("perl -pi -e 's/a/b/' src/app.py", "src/app.py"),
    ("perl -i -pe 's/a/b/' src/app.py", "src/app.py"),
    ("gawk -i inplace '{print}' a.txt", "a.txt"),
    ("yq -i '.a = 1' conf.yaml", "conf.yaml"),
    ("sd before after src/app.py", "src/app.py"),
    ('for f in src/*.py; do sed -i s/a/b/ "$f"; done', "src/app.py"),
    ("for f in $(grep -rl foo src); do sed -i s/a/b/ $f; done", "src/deep/app.py"),
    ("grep -rl foo src | xargs sed -i 's/foo/bar/g'", "src/app.py"),
    ("grep -rl --include='*.py' foo . | xargs -0 -n1 sed -i 's/foo/bar/g'", "deep/app.py"),
    ("rg -l foo -g '*.ts' | xargs -I{} sed -i s/a/b/ {}", "web/a.ts"),
    ("sed -i s/a/b/ $(git ls-files '*.py')", "deep/app.py"),
    ("find src -name '*.py' -exec sed -i s/a/b/ {} +", "src/app.py"),
    ("find . -type f -name '*.bak' -delete", "deep/x.bak"),
    ('find src -name \'*.js\' | while read -r f; do mv "$f" "${f%.js}.ts"; done', "src/app.js"),
    ("fd -e py -x sed -i s/a/b/", "src/app.py"),
    # programs for files
    ("rm -rf build old.txt", "old.txt"),
    ("rm -rf build old.txt", "build/deep/x.o"),
    ("mv src/a.py src/b.py", "src/a.py"),
    ("mv src/a.py src/b.py", "src/b.py"),
    ("mv a.py b.py lib/", "lib/b.py"),
    ("cp src/a.py src/b.py", "src/b.py"),
    ("cp src/a.py lib", "lib/a.py"),
    ("cp -r tmpl/. src/new", "src/new/deep/a.py"),
    ("cp -r tmpl src/new", "src/new/tmpl/a.py"),
    ("cp ../elsewhere/{a,b}.py src/", "src/b.py"),
    ("touch src/__init__.py", "src/__init__.py"),
    ("mkdir -p src/pkg && touch src/pkg/__init__.py", "src/pkg/__init__.py"),
    ("chmod +x scripts/run", "scripts/run"),
    ("ln -s ../a.py src/link.py", "src/link.py"),
    ("truncate -s 0 log.txt", "log.txt"),
    ("tar xzf a.tgz -C vendor", "vendor/lib/x.c"),
    ("tar -xf a.tar", "lib/x.c"),
    ("unzip -o a.zip -d assets", "assets/x.png"),
    ("patch -p1 < fix.patch", "src/app.py"),
    ("patch -p1 <<'E'\n--- a/src/app.py\n+++ b/src/app.py\n@@ -1 +1 @@\n-a\n+b\nE", "src/app.py"),
    ("git apply <<'E'\n--- a/src/app.py\n+++ b/src/app.py\n@@ -1 +1 @@\n-a\n+b\nE", "src/app.py"),
    ("apply_patch <<'E'\n*** Begin Patch\n*** Update File: src/app.py\n*** End Patch\nE", "src/app.py"),
    ("git mv a.py b.py", "b.py"),
    ("curl -sSL https://x.org/a.json -o data/a.json", "data/a.json"),
    ("curl -sSLO https://x.org/data.csv?x=1", "data.csv"),
    ("wget https://x.org/data.csv", "data.csv"),
    ("sort -u words.txt -o words.txt", "words.txt"),
    ("echo x | sudo tee -a etc/conf >/dev/null", "etc/conf"),
    # around them
    ("FOO=1 BAR=2 sed -i s/a/b/ f.txt", "f.txt"),
    ("env -u X A=b timeout -k 5 30 nice -n 5 sed -i s/a/b/ f.txt", "f.txt"),
    ("bash -lc 'cd src && sed -i s/a/b/ f.txt'", "src/f.txt"),
    ('bash -c "echo a > f.txt"', "f.txt"),
    ("sh <<'E'\necho a > f.txt\nE", "f.txt"),
    ("eval 'echo a > f.txt'", "f.txt"),
    ("export A=1; time (echo a > f.txt)", "f.txt"),
    ("gcc -c a.c -o build/a.o", "build/a.o"),
    ("pandoc a.md --output=a.html", "a.html"),
    ("grep -rl -e foo src | xargs sed -i s/a/b/", "src/app.py"),
    ("rm -rf *", "src/app.py"),
    ("rm -f *.pyc", "app.pyc"),
    # program texts
    ('python -c \'open("src/f.txt", "w").write("a")\'', "src/f.txt"),
    (
        "python3 - <<'E'\nfrom pathlib import Path\np = Path('src/app.py')\n"
        "p.write_text(p.read_text().replace('a', 'b'))\nE",
        "src/app.py",
    ),
    ("python3 <<'E'\nimport pathlib\nfor p in pathlib.Path('src').rglob('*.py'): p.write_text('')\nE", "src/deep/a.py"),
    ("cat <<'E' | python3\nopen('f.txt','w')\nE", "f.txt"),
    ("node -e \"require('fs').writeFileSync('out/a.json', '{}')\"", "out/a.json"),
    ('ruby -e \'File.write("a.rb", "x")\'', "a.rb"),
    ("python3.11 -c \"open(f'part{n}.txt', 'w')\"", "part1.txt"),
    # unknown programs: what they name
    ("./scripts/render.sh templates out/page.html", "out/page.html"),
    ("python scripts/gen.py --out=src/gen.py", "src/gen.py"),
    ("mytool --config x.toml src/pkg", "src/pkg/a.py"),
    ("jupytext --to py nb.ipynb", "nb.ipynb"),
    # formatters
    ("black .", "src/app.py"),
    ("black src tests", "src/app.py"),
    ("uv run ruff format", "src/app.py"),
    ("ruff check --fix src", "src/app.py"),
    ("python -m black -q src/app.py", "src/app.py"),
    ("npx prettier --write 'src/**/*.ts'", "src/deep/a.ts"),
    ("npx --yes prettier -w .", "src/app.css"),
    ("gofmt -w .", "pkg/a.go"),
    ("cargo fmt --all", "src/main.rs"),
    ("cd crates/x && cargo fmt", "crates/x/src/main.rs"),
    ("eslint --fix src", "src/a.js"),
    ("clang-format -i src/*.c", "src/a.c"),
    ("pre-commit run --all-files", "src/app.py"),
    # package managers
    ("npm install --save-dev jest", "package-lock.json"),
    ("npm i", "web/package-lock.json"),
    ("pnpm add -D vitest", "pnpm-lock.yaml"),
    ("yarn add x", "yarn.lock"),
    ("uv add httpx", "uv.lock"),
    ("uv sync", "uv.lock"),
    ("poetry lock", "poetry.lock"),
    ("cargo add serde", "Cargo.toml"),
    ("cargo build", "Cargo.lock"),
    ("go mod tidy", "go.sum"),
    ("pip install -e .", "src/x.egg-info/PKG-INFO"),
    # generators
    ("protoc --python_out=. a.proto", "a_pb2.py"),
    ("cmake -S . -B build", "build/CMakeCache.txt"),
    ("python manage.py makemigrations app", "app/migrations/0002_x.py"),
    ("npx create-vite web", "web/src/main.ts"),
    ("cargo new crates/x", "crates/x/src/lib.rs"),
    ("npx jest -u", "src/__snapshots__/a.test.js.snap"),
    ("make fmt", "src/app.c"),
    ("make -C sub generate", "sub/gen.c"),
    ("npm run format", "src/a.ts"),
    ("just codegen", "src/gen.rs"),
    ("yarn lint:fix", "src/a.ts"),
]

OTHERS = [
    ("", "f.txt"),
    ("cat src/app.py", "src/app.py"),
    ("cat src/app.py > /dev/null 2>&1", "src/app.py"),
    ("grep -rn foo src", "src/app.py"),
    ("rg foo; ls -la; git status --short", "src/app.py"),
    ("head -5 < f.txt", "f.txt"),
    ("echo 'sed -i s/a/b/ f.txt'", "f.txt"),
    ("echo a # > f.txt", "f.txt"),
    ("echo 'a > f.txt'", "f.txt"),
    ("cat <<'E' > g.txt\necho a > f.txt\nE", "f.txt"),
    ("sed -n 1,5p src/app.py", "src/app.py"),
    ("sed s/a/b/ src/app.py > out.py", "src/app.py"),
    ("awk '{print}' a.txt", "a.txt"),
    ("diff a.py b.py", "a.py"),
    ("cp src/a.py /tmp/a.py", "src/a.py"),
    ("cp src/a.py src/b.py", "src/a.py"),
    ("cp a.py lib", "lib/b.py"),
    ("ln -s a.py link.py", "a.py"),
    ("tar czf a.tgz src", "src/app.py"),
    ("pytest tests/test_app.py -q", "tests/test_app.py"),
    ("python -m pytest", "src/app.py"),
    ("npm test", "package.json"),
    ("npm run dev", "src/a.ts"),
    ("npm run build && npm start", "src/a.ts"),
    ("make", "src/app.c"),
    ("make test", "src/app.c"),
    ("make -j8 all", "src/app.c"),
    ("cargo test", "src/main.rs"),
    ("cargo build --release", "src/main.rs"),
    ("go test ./...", "pkg/a.go"),
    ("node server.js", "server.js"),
    ("python scripts/gen.py", "scripts/gen.py"),
    ("./run.sh", "run.sh"),
    ("bash scripts/run.sh", "scripts/run.sh"),
    ("python -c 'print(open(\"src/f.txt\").read())'", "src/f.txt"),
    ('python -c \'open("a.txt", "w")\'', "b.txt"),
    ("black --check src", "src/app.py"),
    ("black src", "src/app.ts"),
    ("black src", "docs/app.py"),
    ("ruff check src", "src/app.py"),
    ("ruff format --diff", "src/app.py"),
    ("prettier --check .", "src/a.ts"),
    ("npx prettier src/a.ts", "src/a.ts"),
    ("gofmt -l .", "a.go"),
    ("eslint src/a.js", "src/a.js"),
    ("npx tsc --noEmit -p tsconfig.json", "tsconfig.json"),
    ("npm install", "src/a.ts"),
    ("uv sync", "src/app.py"),
    ("pip install -r requirements.txt", "src/app.py"),
    ("git checkout main", "src/app.py"),
    ("git commit -am x && git push", "src/app.py"),
    ("git stash; git stash pop", "src/app.py"),
    ("git diff src/app.py", "src/app.py"),
    ("git add src/app.py", "src/app.py"),
    ("sleep 600", "f.txt"),
    ("echo hi >> data.txt", "data.txt.bak"),
    ("echo hi >> data.txt", "other/mydata.txt"),
    ("echo hi > /tmp/data.txt", "data.txt"),
    ("echo hi > /home/ada/other/src/f.txt", "src/f.txt"),
    ("cd src && echo a > f.txt", "lib/f.txt"),
    ("cd src && echo a > f.txt", "f.txt"),
    ("(cd src && ls); echo a > f.txt", "src/g.txt"),
    ("echo a > $FILE", "f.txt"),
    ("sed -i s/a/b/ $FILES", "f.txt"),
    ("rm $X", "f.txt"),
    ("mytool .", "f.txt"),
    ("mytool", "f.txt"),
    ("docker run -v $PWD:/w img sh -c 'echo a > f.txt'", "f.txt"),
    ("curl https://x.org/f.txt", "f.txt"),
    ("find src -name '*.py'", "src/app.py"),
    ("find src -name '*.pyc' -delete", "src/app.py"),
    ("grep -rl foo src | xargs wc -l", "src/app.py"),
    ("grep -rl foo src | xargs sed -i s/a/b/", "lib/app.py"),
    ("for f in src/*.py; do python -m py_compile $f; done; ls", "lib/app.py"),
    ("case $x in f.txt) ls ;; esac", "f.txt"),
    ("[[ -f f.txt ]] && [ -f f.txt ] && test -f f.txt", "f.txt"),
    ("quire edit f.txt", "f.txt"),
    ("echo 'unclosed > f.txt", "f.txt"),
    ("patch -p1 <<'E'\n--- a/src/app.py\n+++ b/src/app.py\nE", "src/other.py"),
    ("protoc --python_out=. a.proto", "src/app.py"),
    ("sort words.txt | uniq", "words.txt"),
    ("gcc -c a.c -o a.o", "a.c"),
    ("fd -e py -x wc -l", "src/app.py"),
    ("fd -e py -x sed -i s/a/b/", "src/app.ts"),
    ("grep -rl -e foo src | xargs sed -i s/a/b/", "lib/app.py"),
    ("rm -rf $DIR/*", "src/app.py"),
    ("rm -f *.pyc", "src/app.pyc"),
    ("sed -i s/a/b/ *.py", "src/deep/app.py"),
    ("vim src/app.py & sleep 1", "src/app.py"),
]


@pytest.mark.parametrize(("command", "path"), WRITTEN)
def test_a_command_line_accounts_for_what_it_writes(command: str, path: str) -> None:
    assert claims(command, path, ROOT)


@pytest.mark.parametrize(("command", "path"), OTHERS)
def test_a_command_line_accounts_for_nothing_else(command: str, path: str) -> None:
    assert not claims(command, path, ROOT)


def test_where_the_shell_begins_is_a_name_that_of_one_file() -> None:
    assert claims("echo a > f.txt", "sub/f.txt", ROOT)
    assert not claims("echo a > f.txt", "sub/f.txt", ROOT, ROOT)
    assert claims("echo a > f.txt", "f.txt", ROOT, ROOT)
    assert claims("echo a > f.txt", "sub/f.txt", ROOT, f"{ROOT}/sub")
    assert claims("cd .. && black .", "lib/a.py", ROOT, f"{ROOT}/sub")
    assert not claims("black .", "lib/a.py", ROOT, f"{ROOT}/sub")
    assert not claims("black .", "lib/a.py", ROOT, "/elsewhere")


def test_without_the_top_of_the_checkout_an_absolute_path_may_be_in_it() -> None:
    assert claims("echo a > /somewhere/src/f.txt", "src/f.txt")
    assert not claims("echo a > /somewhere/src/f.txt", "lib/f.txt")


SIGNS = "' \" ` $( ${ << a<<E (( a=( $' > | && ) \\ {a,b [[ \0\3"
NAMES = "case for xargs sed cp env timeout esac function"
WAYS = "sed -i,python -c,bash -c,find -exec,curl -o,make -C,python -m,xargs -I,tar -C"


@pytest.mark.parametrize("command", [*SIGNS.split(" "), *NAMES.split(" "), *WAYS.split(",")])
def test_a_command_line_that_is_cut_off_is_no_error(command: str) -> None:
    assert not claims(command, "f.txt", ROOT)
    assert claims(f"echo a > f.txt; {command}", "f.txt", ROOT)


def test_a_very_long_command_line_is_read_in_part() -> None:
    assert claims("echo a > f.txt;" * 20_000, "f.txt", ROOT)
    assert not claims("$(" * 50_000, "f.txt", ROOT)
    assert not claims("{a,b}" * 5_000 + " x", "f.txt", ROOT)


PIECES = [
    "'",
    '"',
    "`",
    "$(",
    ")",
    "${",
    "}",
    "{",
    ",",
    "<<E",
    "\nE\n",
    "\n",
    ";",
    "|",
    ">",
    "<(",
    "((",
    "case x in",
    "esac",
]
PIECES += [
    "for f in a b",
    "; do",
    "done",
    "$f",
    "sed -i s/a/b/",
    "xargs",
    "find . -exec",
    "cp",
    "bash -c",
    "cd",
    "a=(",
    "\\",
    "#",
]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=30))
def test_no_command_line_is_an_error(pieces: list[str]) -> None:
    claims(" ".join(pieces), "src/f.txt", ROOT)
    claims("".join(pieces), "src/f.txt")


def test_lines_that_mean_ever_more_are_answered_at_once() -> None:
    deep = "a/" * 30 + "b"
    assert not claims(f"prettier --write '{'**/' * 25}zz'", deep)
    assert not claims("touch {1.." + "9" * 5000 + "}", "a.py")
