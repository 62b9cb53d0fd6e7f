/** An ARM64 Node.js that runs on this x64 machine, emulated by qemu. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { defaultCacheDirectory } from '../../src/model/cache/cache-directory.ts';

/** Package of Debian's bookworm-backports; with Debian 12's own 7.2, ONNX Runtime crashes as it starts. */
export const QEMU_PACKAGE = 'qemu-user/bookworm-backports';
/** As Debian's cross compiler brings it: the C and C++ libraries of ARM64. */
const SYSROOT = '/usr/aarch64-linux-gnu';

const folder = join(defaultCacheDirectory(), 'arm64');

/** Where `fetch.ts` puts things. */
export const MACHINE = {
  folder,
  qemu: join(folder, 'qemu-aarch64'),
  node: join(folder, 'node'),
  /** With koffi's native part, which npm installs for this machine only. */
  modules: join(folder, 'node_modules'),
  /** To be started like a Node.js of this machine; what it forks is emulated too. */
  wrapper: join(folder, 'emulated-node'),
  /** Module that each process loads first, so that it forks the wrapper. */
  preload: join(folder, 'preload.cjs'),
} as const;

export const hasMachine = existsSync(MACHINE.wrapper) && existsSync(SYSROOT);

/** The kernel would not start an ARM64 program, so the wrapper starts qemu; nothing is registered. */
export const WRAPPER = `#!/bin/sh
export NODE_PATH='${MACHINE.modules}'
exec '${MACHINE.qemu}' -cpu max -L ${SYSROOT} '${MACHINE.node}' --require '${MACHINE.preload}' "$@"
`;
export const PRELOAD = `process.execPath = ${JSON.stringify(MACHINE.wrapper)};\n`;
