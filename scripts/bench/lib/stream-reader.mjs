/** Reads an endless answer several times at once, and throws it away: `stream-reader.mjs URL COUNT`. */
import { get } from 'node:http';

const [, , url, count] = process.argv;
const opened = Array.from(
  { length: Number(count) },
  () =>
    new Promise((resolve, reject) => {
      get(url, { agent: false }, (response) => {
        response.on('data', () => {});
        response.once('data', resolve);
      }).on('error', reject);
    }),
);
await Promise.all(opened);
process.send?.('open');
