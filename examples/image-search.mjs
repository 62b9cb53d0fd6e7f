// Which image shows what a text says: texts and images in one space, by a model such as CLIP or SigLIP:
// npm start -- ~/models/clip-vit-large-patch14
// node examples/image-search.mjs "a page with a chat" docs/images/*.png
import { readFile } from 'node:fs/promises';
import OpenAI from 'openai';

const [text, ...files] = process.argv.slice(2);
if (files.length === 0) throw new Error('usage: image-search.mjs TEXT IMAGE...');

const client = new OpenAI({
  baseURL: `${process.env.CHAIRLIFT_URL ?? 'http://127.0.0.1:8000'}/v1`,
  apiKey: process.env.CHAIRLIFT_CLIENT_API_KEY ?? 'none',
});

const images = await Promise.all(files.map((file) => readFile(file, 'base64')));
const { data } = await client.embeddings.create({
  model: process.env.CHAIRLIFT_CLIENT_MODEL ?? 'clip-vit-large-patch14',
  input: [text, ...images.map((image) => ({ image }))],
});
const [asked, ...vectors] = data.map(({ embedding }) => embedding);

// Vectors have the length 1: their product is the cosine of the angle between them.
const similarity = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
const ranked = files
  .map((file, i) => ({ file, score: similarity(asked, vectors[i]) }))
  .toSorted((a, b) => b.score - a.score);

for (const { file, score } of ranked) console.log(`${score.toFixed(3)}  ${file}`);
