/** Contents of the images. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { IMAGES } from '../../scripts/container/store.ts';
import { podman, printed } from './support/podman.ts';

const MB = 1e6;
/** Bytes that an image may have. */
const LARGEST = { debian: 400 * MB, bones: 330 * MB };

/** Paths below a folder of an image. */
function filesOf(image: string, folder: string): string[] {
  const script = `for (const each of require('fs').readdirSync('${folder}', { withFileTypes: true, recursive: true })) if (each.isFile()) console.log(each.parentPath + '/' + each.name)`;
  return printed(image, 'node', '-e', script).split('\n');
}

describe.each(Object.entries(IMAGES))('%s', (root, image) => {
  const files = filesOf(image, '/app');
  const [config] = JSON.parse(podman('inspect', '--type', 'image', image)) as {
    Size: number;
    Config: { User: string; StopSignal: string };
    Healthcheck?: { Test: string[] };
  }[];

  it('has nothing that a server does not need', () => {
    const name = `${process.platform}/${process.arch}`;
    const runtimes = files.filter((file) => file.includes('/onnxruntime-node/bin/'));
    expect(runtimes.length).toBeGreaterThan(0);
    expect(runtimes.filter((file) => !file.includes(name))).toEqual([]);
    expect(
      files.filter((file) => /\/node_modules\/(typescript|vitest|oxlint|vite)\//.test(file)),
    ).toEqual([]);
    expect(files.filter((file) => /(\.[cm]?ts|\.map)$/.test(file))).toEqual([]);
    expect(files.filter((file) => /^\/app\/(src|web|test|scripts)\//.test(file))).toEqual([]);
  });

  it('has all that it does need', () => {
    const needed = ['dist/cli/main.js', 'dist/web/index.html', 'models/summit/model.safetensors'];
    for (const file of [...needed, 'LICENSE']) expect(files).toContain(`/app/${file}`);
    expect(filesOf(image, '/var/cache/chairlift').join()).toContain('/models/');
  });

  it('is small, and says how it is run', () => {
    console.log(`${image}: ${Math.round((config?.Size ?? 0) / MB)} MB`);
    expect(config?.Size).toBeLessThan(LARGEST[root as keyof typeof LARGEST]);
    expect(config?.Config).toMatchObject({ User: '1000:1000', StopSignal: 'SIGTERM' });
    expect(config?.Healthcheck?.Test).toEqual(['CMD', 'node', 'dist/cli/main.js', 'probe']);
  });

  it('has a bill of its materials, and no npm', () => {
    const script = `JSON.stringify({
      npm: ['bin/npm', 'bin/npx', 'lib/node_modules'].filter((path) => fs.existsSync('/usr/local/' + path)),
      materials: JSON.parse(fs.readFileSync('sbom.cdx.json', 'utf8')).components.map(({ name }) => name),
    })`;
    const { npm, materials } = z
      .object({ npm: z.array(z.string()), materials: z.array(z.string()) })
      .parse(JSON.parse(printed(image, 'node', '-p', script)));
    expect(npm).toEqual([]);
    expect(materials).toContain('onnxruntime-node');
    expect(materials).not.toContain('vitest');
  });
});

it('the smaller one has no shell and no package manager', () => {
  const found = printed(
    IMAGES.bones,
    'node',
    '-p',
    `['/bin/sh', '/usr/bin/sh', '/usr/bin/apt'].filter(require('fs').existsSync).length`,
  );
  expect(found).toBe('0');
});
