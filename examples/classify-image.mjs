// Prints the class of an image: node examples/classify-image.mjs photo.jpg
// The server needs a model that takes images: docs/images.md.
import { readFile } from 'node:fs/promises';

const url = process.env.CHAIRLIFT_URL ?? 'http://127.0.0.1:8000';
const key = process.env.CHAIRLIFT_CLIENT_API_KEY ?? 'none';
const model = process.env.CHAIRLIFT_CLIENT_MODEL ?? 'color';
const [path] = process.argv.slice(2);
if (path === undefined) throw new Error('which image?');

const response = await fetch(`${url}/predictions/${model}?top_k=3`, {
  method: 'POST',
  headers: { authorization: `Bearer ${key}`, 'content-type': 'application/octet-stream' },
  body: await readFile(path),
});
const answer = await response.json();
if (!response.ok) throw new Error(answer.error.message);
for (const { label, score } of answer) console.log(score.toFixed(3), label);
