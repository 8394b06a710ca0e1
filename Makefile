# A thin front to meson. `make demo` and `make check` are the two to begin with; each installs what is missing (Debian 12,
# apt), builds, and runs.
BUILD ?= build
PREFIX ?= /usr/local
.DEFAULT_GOAL := all
.PHONY: all deps demo check check-verbs check-release check-sanitized check-clang soak bench mutants verify mutants-verify fuzz-parser promote install clean format

deps:
	@tools/deps.sh

all: deps
	@tools/build.sh $(BUILD) --prefix=$(PREFIX)

demo: all
	@tools/demo.sh $(BUILD)

# All tests, the same once more under the address and undefined-behaviour sanitizers, and a build by the other compiler.
check: deps
	@tools/check.sh $(BUILD)

# The provider verbs on Soft-RoCE in a virtual machine (docs/soft-roce.md), at length; `make check` runs a selection.
check-verbs: all
	@tools/check-verbs.sh $(BUILD)

# Hours of random programs rather than seconds.
soak: all
	@tools/soak.sh $(BUILD)

bench: all
	@tools/bench.sh $(BUILD)

# Breaks one guard of the model at a time and shows that the tests notice.
mutants: deps
	@tools/mutants.sh $(BUILD)-mutants

# The library's C code against the specifications, at the default bound.
verify: all
	@$(BUILD)/src/cli/remora verify

# Puts one fault at a time into the library and shows which client notices.
mutants-verify: all
	@tools/mutants-verify.py $(BUILD)

# Random bytes to the parser, for FUZZ_SECONDS.
fuzz-parser: deps
	@tools/fuzz-parser.sh $(BUILD)-fuzz $(FUZZ_SECONDS)

# Takes what the engines say of the corpus as what is expected (litmus/EXPECTED). Look at the difference first: make check.
promote: all
	@tests/corpus/expected.py $(BUILD)/src/cli/remora litmus --promote

# PREFIX may differ from the one that the folder was set up with.
install: all
	@meson configure $(BUILD) -Dprefix=$(abspath $(PREFIX))
	@meson install -C $(BUILD) --quiet >/dev/null
	@echo "installed in $(DESTDIR)$(abspath $(PREFIX))"

clean:
	rm -rf $(BUILD) $(BUILD)-*

format:
	git ls-files '*.c' '*.h' | xargs clang-format -i
