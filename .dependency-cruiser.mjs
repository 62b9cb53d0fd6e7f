/**
 * Who may import whom, part of `npm run check`: the folders of a folder stand on floors, the lowest first. A
 * file imports from floors below its own, and from its own folder; folders of one floor don't know each other.
 * Files next to the folders are free, but for those of `NEVER`.
 */
import { readdirSync } from 'node:fs';

const FLOORS = {
  src: [
    'client files threads',
    'audio grammar images net onnx ort',
    'bench model',
    'engine',
    'encoder',
    'front',
    'distill eval observability',
    'optimize server',
    'grpc settings',
    'serving',
    'cli',
    'lambda',
  ],
  'src/cli': ['help terminal', 'build models offline server', 'bench chat profile serve', 'doctor'],
  'src/encoder': ['tensors', 'process'],
  'src/engine': [
    'states windows',
    'costs kv-cache sampling',
    'constraints cpu gpu prefix-tier scheduling',
    'speculation tap',
    'process',
  ],
  'src/engine/gpu': ['paged slots'],
  'src/front': [
    'engine-process queue service-classes text tool-calls',
    'adapters batching generation grammars kv-events templates',
    'encoder-process prompts',
    'chat embedding tensors',
    'images',
    'audio vision',
    'transcription',
    'prefetch registry response-cache slots',
  ],
  'src/model': [
    'cache families',
    'huggingface',
    'quantize tokenizer',
    'graph quantized',
    'export native static',
    'adapters gguf',
    'download folder',
    'bucket hub',
    'remotes',
    'build',
    'compare encoder',
    'speech vision',
    'dual',
  ],
  'src/observability': ['recent slo'],
  'src/optimize': ['folder math', 'calibration', 'steps'],
  'src/server': [
    'caching schemas',
    'http resume',
    'auth ui',
    'adapters embeddings predictions rates status steps tiers',
    'operating',
    'admin generation',
    'answers',
    'websocket',
    'audio',
    'anthropic llama-server kserve ollama openai responses',
    'batches',
    'openapi',
  ],
  'src/serving': ['choices progress', 'models', 'plan', 'loading', 'server', 'in-process'],
};

const PARTS_OF_ENGINE =
  'scheduling|costs|kv-cache|states|windows|prefix-tier|speculation|constraints|cpu|gpu|process|tap';

/** What a floor alone does not say. */
const NEVER = [
  ['src/[^/]+\\.ts', 'src/[^/]+/', 'what all folders share knows none of them', 'src/index.ts'],
  ['src/(front|server|grpc)/', 'src/(ort|onnx)/', 'ONNX Runtime is the business of the engine'],
  ['src/optimize/', 'src/(front|server|observability)/', 'it works on tokens, and not on text'],
  [
    'src/grpc/',
    'src/(engine|server/(openai|llama-server|responses|anthropic|ollama|websocket|openapi))/',
    'it has the API of src/server/kserve in another form',
  ],
  ['src/encoder/tensors/', 'src/(?!encoder/tensors/)[^/]+/', 'the front has these, too'],
  [
    'src/engine/(sequence|step|request|stats|graph-session)\\.ts',
    `src/engine/(${PARTS_OF_ENGINE})/`,
    'what all parts of the engine share knows none of them',
  ],
  ['src/engine/scheduling/', 'src/engine/sampling/', 'it plans and commits, and samples nothing'],
  ['src/engine/constraints/', 'src/engine/(costs|kv-cache)/', 'it knows grammars and sequences'],
  ['src/engine/gpu/', 'src/engine/costs/', 'it runs plans'],
  [
    'src/engine/cpu/',
    'src/engine/sampling/(?!philox|p[^e])',
    'it runs plans; only its calibration draws tokens',
  ],
  ['src/', '(test|scripts|web)/', 'what is installed has nothing else'],
];

/** Every folder with several folders in it, and every one of these, has a floor. */
function requireFloors(folder) {
  const folders = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  for (const name of folders) requireFloors(`${folder}/${name}`);
  const known = (FLOORS[folder] ?? []).flatMap((floor) => floor.split(' '));
  const wrong = [
    ...(folders.length > 1 ? folders.filter((name) => !known.includes(name)) : []),
    ...known.filter((name) => !folders.includes(name)),
  ];
  if (wrong.length > 0) {
    throw new Error(
      `.dependency-cruiser.mjs: ${folder} and its floors differ in ${wrong.join(', ')}`,
    );
  }
}

requireFloors('src');

function rulesOf([parent, floors]) {
  const rows = floors.map((floor) => floor.split(' '));
  return rows.flatMap((row, at) =>
    row.flatMap((name) => {
      const barred = [...row.filter((each) => each !== name), ...rows.slice(at + 1).flat()];
      return barred.length === 0
        ? []
        : [rule(`${parent}/${name}/`, `${parent}/(${barred.join('|')})/`, 'not below it')];
    }),
  );
}

function rule(from, to, comment, except) {
  const pathNot = except === undefined ? {} : { pathNot: `^${except}` };
  return {
    name: comment,
    severity: 'error',
    from: { path: `^${from}`, ...pathNot },
    to: { path: `^${to}` },
  };
}

export default {
  forbidden: [...Object.entries(FLOORS).flatMap(rulesOf), ...NEVER.map((never) => rule(...never))],
  options: { parser: 'swc', tsPreCompilationDeps: true, doNotFollow: { path: 'node_modules' } },
};
