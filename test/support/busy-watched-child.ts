import { startThread } from '../../src/threads/start-thread.ts';

// The same, with a thread that watches its parent, as on systems without a signal for its end.
startThread(new URL('../../src/threads/watch-parent.js', import.meta.url), process.ppid);
await import('./busy-child.ts');
