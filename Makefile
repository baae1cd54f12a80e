# Every target installs what it needs into .venv; nothing else on the machine is touched.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
ANSIBLE ?=
AS_ROOT ?=
# To an operator it names the Python of the modules (docs/reference.md); one that is active in a shell is not meant.
unexport VIRTUAL_ENV
RELEASE := $(or $(ANSIBLE),2.19)
VENV := .venv$(if $(ANSIBLE),-$(ANSIBLE))
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS ?= 2
RESOURCES ?= 200
IDLE ?= 5000
ROUNDS ?= 15
SCENARIO ?= default
ANSIBLE_CORE ?= 2.18
VERSION ?= 0.1.0
IMAGE ?= ansible-operator-runner-sample:$(VERSION)

.PHONY: help
help:  ## Show what there is to run
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): requirements/run.txt requirements/ansible-$(RELEASE).txt requirements/dev.txt requirements/collections.txt tools/install_collections.py pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps \
		-r requirements/run.txt -r requirements/ansible-$(RELEASE).txt -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	$(BIN)/python tools/install_collections.py
	touch $@

.PHONY: install
install: $(READY)  ## Make the virtual environment, with every tool and the kubernetes.core collection

.PHONY: check
check: $(READY)  ## Format, lint, types, import contracts and the roles
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/ansible-lint -q

# Dear tests first, so that no worker is left alone with one; tests of a group stay together.
PYTEST := $(BIN)/pytest -n $(WORKERS) --dist loadgroup --no-loadscope-reorder --durations 25

.PHONY: test
test: check  ## The tests, each once, with a real Kubernetes API and real Ansible; a quarter of an hour
	$(PYTEST) -m "not slow" tests/docs tests/integration tests/corpus tests/parity tests/contract tests/unit

.PHONY: test-slow
test-slow: $(READY)  ## The others: outages, kills, clocks, load, what runs cost, pages that install; needs root, AS_ROOT=1 has sudo
	$(if $(AS_ROOT),sudo --preserve-env env PATH="$$PATH") env FAULTS=all $(PYTEST) -m slow tests/robustness tests/docs tests/perf

.PHONY: test-all
test-all: test test-slow  ## Both; 26 minutes

.PHONY: corpus
corpus: $(READY)  ## Are warm runs the same as stock Ansible's? Every feature that roles use, cold and warm
	$(PYTEST) tests/corpus

.PHONY: test-fast
test-fast: $(READY)  ## The tests that need no cluster; seconds
	$(BIN)/pytest tests/unit tests/contract

.PHONY: parity
parity: $(READY)  ## Is it a drop-in? Every row of tests/parity; OPERATOR=command for another executable, GO=1 if Go's
	$(if $(GO),$(BIN)/pytest --parity-go,$(PYTEST)) $(if $(OPERATOR),--operator '$(OPERATOR)') tests/parity

.PHONY: image
image: $(READY)  ## Build the base image and the sample operator's; BASE=debootstrap where no registry is
	tools/build_image.sh

.PHONY: test-image
test-image: $(READY)  ## Build the images, and run the sample's against a real Kubernetes API; needs root
	EXPORT=1 tools/build_image.sh
	$(BIN)/pytest tests/image

.PHONY: test-node
test-node: $(READY)  ## The sample operator in pods of a real node, which is started for it; CLUSTER=kind; needs root and Debian
	$(if $(filter kind,$(CLUSTER)),,$(BIN)/python -m tests.node programs)
	$(BIN)/python -m tests.node image
	$(BIN)/pytest tests/node $(if $(CLUSTER),--cluster $(CLUSTER))

GUEST = $(BIN)/python -m tests.node guest $(BIN)/pytest --timeout 1200
KILLED := tests/node/test_node.py tests/node/test_memory.py

.PHONY: test-cgroup2
test-cgroup2: $(READY)  ## The operator in pods of that node with cgroups of version 2, in a guest kernel; needs root and Debian
	$(BIN)/python -m tests.node programs
	$(BIN)/python -m tests.node image
	$(BIN)/pytest tests/node/test_guest.py
	$(GUEST) $(KILLED) tests/node/test_operator.py
	$(GUEST) --single-process-oom-kill $(KILLED)

.PHONY: test-ansible
test-ansible: $(READY)  ## The tests that run Ansible; ANSIBLE=2.18 runs them on that release of ansible-core
	$(PYTEST) tests/corpus tests/robustness tests/integration --ignore-glob='*/test_dev_*'

.PHONY: bundle
bundle: $(READY)  ## What OLM installs the sample operator from, checked; VERSION=0.1.0 IMAGE=name:tag
	$(BIN)/ansible-operator generate bundle --version $(VERSION) --image $(IMAGE)
	$(BIN)/ansible-operator validate bundle

.PHONY: molecule
molecule: $(READY)  ## The sample operator's scenario; SCENARIO=default|kind|cluster
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/molecule test --scenario-name $(SCENARIO)

# The time of the commit, so that the same commit gives the same files.
EPOCH = $(shell git log -1 --format=%ct)

.PHONY: wheel
wheel: $(READY)  ## The wheel, in dist
	rm -rf build/lib build/bdist.* dist/*.whl
	SOURCE_DATE_EPOCH=$(EPOCH) $(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-index \
		--no-build-isolation --wheel-dir dist .

.PHONY: sbom
sbom: wheel  ## What the wheel is installed with in the image (CycloneDX), in dist; ANSIBLE_CORE=2.18
	$(PYTHON) -m venv --clear --without-pip build/sbom
	$(BIN)/python -m pip --python build/sbom install --quiet --disable-pip-version-check --require-hashes --no-deps \
		-r requirements/run.txt -r requirements/ansible-$(ANSIBLE_CORE).txt
	$(BIN)/python -m pip --python build/sbom install --quiet --disable-pip-version-check --no-deps --no-index dist/*.whl
	version=$$($(BIN)/python -c 'from runner.version import VERSION; print(VERSION)'); \
		sed "s/^dynamic = .*/version = \"$$version\"/" pyproject.toml >build/sbom/pyproject.toml
	SOURCE_DATE_EPOCH=$(EPOCH) $(BIN)/cyclonedx-py environment --output-reproducible --pyproject build/sbom/pyproject.toml \
		--output-file dist/sbom.cdx.json build/sbom

.PHONY: push-image
push-image:  ## Push the base image that `make image` has built with docker; TO=name:tag
	docker tag ansible-operator-runner $(TO)
	docker push $(TO)

.PHONY: push-index
push-index:  ## Join the images TO-amd64 and TO-arm64, which are pushed, to one for both; TO=name:tag
	docker buildx imagetools create --tag $(TO) $(TO)-amd64 $(TO)-arm64

.PHONY: digest
digest:  ## Print `digest=sha256:...` of the pushed image TO=name:tag, or append it to the file OUTPUT
	docker buildx imagetools inspect $(TO) --format '{{json .Manifest}}' \
		| $(PYTHON) -c 'import json, sys; print("digest=" + json.load(sys.stdin)["digest"])' $(if $(OUTPUT),>> $(OUTPUT))

.PHONY: sign-image
sign-image:  ## Sign the pushed image TO=name@digest and those that it joins, by the identity that CI has; needs cosign
	cosign sign --yes --recursive $(TO)

.PHONY: push-wheel
push-wheel: $(READY)  ## Upload the wheel to the package index of UV_PUBLISH_URL, with UV_PUBLISH_TOKEN
	$(BIN)/uv publish dist/*.whl

.PHONY: push-release
push-release:  ## Make the release TAG of the repository, with wheel and SBOM
	gh release create $(TAG) --verify-tag --notes-from-tag dist/*.whl dist/sbom.cdx.json

.PHONY: demo
demo: $(READY)  ## Watch the sample operator live on a real Kubernetes API; KEEP=1 leaves it up, RECORD=1 is for the README
	$(BIN)/python -m bench.demo $(if $(KEEP),--keep) $(if $(RECORD),--record)
	$(if $(RECORD),$(BIN)/python -m bench.devdemo)

.PHONY: bench
bench: $(READY)  ## What a reconcile costs, cold, warm and by OPERATOR=command; RESOURCES=200 ROUNDS=15 IDLE=5000
	$(BIN)/python -m bench.compare --resources $(RESOURCES) --rounds $(ROUNDS) --output build/bench.json $(if $(OPERATOR),--operator '$(OPERATOR)')
	$(BIN)/python -m bench.plot build/bench.json > build/bench.svg
	$(BIN)/python -m bench.bench --resources $(RESOURCES) --idle $(IDLE) $(if $(OPERATOR),--operator '$(OPERATOR)')

.PHONY: bench-react
bench-react: $(READY)  ## What reactions cost, and how soon they come; BASE=command compares a project without them
	$(BIN)/python -m bench.react $(if $(BASE),--base '$(BASE)')

.PHONY: bench-start
bench-start: $(READY)  ## Seconds of each of the four commands from an empty folder to a reconciled custom resource
	$(BIN)/python -m bench.start

.PHONY: crossed
crossed: $(READY)  ## Which modules one warm reconcile crosses, in all processes
	$(BIN)/python -m bench.crossed

.PHONY: reference
reference: $(READY)  ## Make docs/reference.md, docs/metrics.md, docs/samples.md and the rules of docs/validate.md anew
	$(BIN)/python -m tools.reference > docs/reference.md
	$(BIN)/python -m tools.metrics > docs/metrics.md
	$(BIN)/python -m tools.rules
	$(BIN)/ansible-operator generate docs --output docs/samples.md

DOCS := .venv-docs
$(DOCS)/.ready: requirements/docs.txt
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements/docs.txt
	touch $@

.PHONY: docs
docs: $(DOCS)/.ready  ## Build the documentation as a site, build/docs/index.html; a warning is an error
	$(DOCS)/bin/sphinx-build --quiet --fresh-env --fail-on-warning --keep-going -c docs . build/docs

.PHONY: pins
pins: $(READY)  ## Make the pinned requirements anew from pyproject.toml, and the checksum of the sample's collection
	$(BIN)/python -m tools.pins
	cd $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/ansible_collections \
		&& sha256sum */*/MANIFEST.json >$(CURDIR)/requirements.sha256

.PHONY: clean
clean:  ## Remove the virtual environment and everything generated
	rm -rf .venv .venv-* build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
