// Counts the lines of the engine's core, and names source files that are too long. Part of `npm run check`:
// a reader should be able to keep the loop, scheduling and KV cache in mind at once. Comments are free there.
//
//   npm run lines
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const MAX_CORE_CODE_LINES = 1250;
const MAX_FILE_LINES = 300;
/** Made by a generator. */
const GENERATED = [
  'src/onnx/onnx_pb.ts',
  'src/grpc/proto/inference_pb.ts',
  'src/grpc/proto/health_pb.ts',
  'src/grpc/proto/reflection_pb.ts',
];

const CORE = {
  loop: ['src/engine/engine.ts', 'src/engine/sequence.ts', 'src/engine/step.ts'],
  scheduling: filesIn('src/engine/scheduling'),
  'slot KV cache': filesIn('src/engine/kv-cache'),
};

/** Every file below a folder. */
function filesIn(folder) {
  return readdirSync(folder, { recursive: true })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => join(folder, name));
}

/** Lines that are neither blank nor comment, and all of them. */
function linesOf(file) {
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  const code = lines.map((line) => line.trim()).filter((line) => !/^(\/\/|\/?\*|$)/.test(line));
  return { code: code.length, all: lines.length };
}

let total = { code: 0, all: 0 };
for (const [part, files] of Object.entries(CORE)) {
  const counts = files.map(linesOf);
  const code = counts.reduce((sum, count) => sum + count.code, 0);
  const all = counts.reduce((sum, count) => sum + count.all, 0);
  total = { code: total.code + code, all: total.all + all };
  console.log(`${part}: ${files.length} files, ${code} lines of code, ${all} with comments`);
}
console.log(`together: ${total.code} lines of code, ${total.all} with comments`);

const tooLong = [...filesIn('src'), ...filesIn('web/src')]
  .filter((file) => !GENERATED.includes(file))
  .map((file) => ({ file, all: linesOf(file).all }))
  .filter(({ all }) => all > MAX_FILE_LINES);
for (const { file, all } of tooLong)
  console.log(`${file} has ${all} lines; ${MAX_FILE_LINES} are allowed.`);
if (total.code > MAX_CORE_CODE_LINES) {
  console.log(`The engine's core may have ${MAX_CORE_CODE_LINES} lines of code: make it simpler.`);
}
if (total.code > MAX_CORE_CODE_LINES || tooLong.length > 0) process.exitCode = 1;
