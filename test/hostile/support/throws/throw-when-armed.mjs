/**
 * With `--import`, in a server whose modules have places (see places.ts): notes which are passed, and throws
 * once where its parent says, when that place is passed next.
 */
import { isMainThread } from 'node:worker_threads';

const isServer = isMainThread && /cli[/\\]main\.js$/.test(process.argv[1] ?? '');

if (isServer && process.send) {
  let passed = new Set();
  let armed = -1;
  globalThis.pass = (id, value) => {
    passed.add(id);
    if (id === armed) {
      armed = -1;
      process.send({ thrown: id });
      throw new Error(`thrown by the test at place ${id}`);
    }
    return value;
  };
  process.on('message', ({ arm, take }) => {
    if (arm !== undefined) armed = arm;
    if (!take) return;
    process.send({ passed: [...passed] });
    passed = new Set();
  });
  process.channel.unref();
}
