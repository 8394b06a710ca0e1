# A thin front to meson. `make demo` and `make check` install what is missing (Debian 12, apt), build and run.
BUILD ?= build
.DEFAULT_GOAL := all
.PHONY: all deps demo check install clean format

deps:
	@tools/deps.sh

all: deps
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD) >/dev/null
	@ninja -C $(BUILD) --quiet

check: all
	meson test -C $(BUILD) --print-errorlogs

clean:
	rm -rf $(BUILD)

format:
	git ls-files '*.c' '*.h' | xargs clang-format -i
