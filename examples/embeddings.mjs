// Embeddings: which text is nearest to a question. An encoder finds better ones than a model for text does:
// npm start -- --model hf:sentence-transformers/all-MiniLM-L6-v2
import OpenAI from 'openai';

const client = new OpenAI({
  baseURL: `${process.env.CHAIRLIFT_URL ?? 'http://127.0.0.1:8000'}/v1`,
  apiKey: process.env.CHAIRLIFT_CLIENT_API_KEY ?? 'none',
});

const texts = [
  'The fox ran through the forest.',
  'What is the sum of 20 and 30?',
  'Rain fell on the old house all night.',
];
const question = 'What is 23 + 45?';

const { data, usage } = await client.embeddings.create({
  model: process.env.CHAIRLIFT_CLIENT_MODEL ?? 'summit',
  input: [question, ...texts],
});
const [asked, ...vectors] = data.map(({ embedding }) => embedding);

// Vectors have the length 1: their product is the cosine of the angle between them.
const similarity = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
const ranked = texts
  .map((text, i) => ({ text, score: similarity(asked, vectors[i]) }))
  .toSorted((a, b) => b.score - a.score);

for (const { text, score } of ranked) console.log(`${score.toFixed(3)}  ${text}`);
console.log(`${asked.length} numbers each, ${usage.total_tokens} tokens read`);
