/** With `--import`: SIGWINCH makes the process throw where nothing catches, in each way that there is. */
import { EventEmitter } from 'node:events';

const thrown = (name) => new Error(`thrown by the test: ${name}`);

process.on('SIGWINCH', () => {
  setImmediate(() => {
    throw thrown('a callback');
  });
  setTimeout(() => {
    throw thrown('a timer');
  });
  void Promise.reject(thrown('a promise'));
  queueMicrotask(() => {
    throw thrown('a microtask');
  });
  process.nextTick(() => new EventEmitter().emit('error', thrown('an emitter')));
});
