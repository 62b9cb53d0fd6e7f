import { optimizeModel } from '../../src/optimize/optimize.ts';
import { KILLED_PLAN } from './optimized.ts';

// Makes the small model sparse in the folder given as argument, and dies of SIGKILL where the other two
// say: what is being done, and how far it is.
const [, , result = '', what = '', done = ''] = process.argv;
await optimizeModel(KILLED_PLAN, result, (...progress) => {
  if (progress[0] === what && progress[1] === Number(done)) process.kill(process.pid, 'SIGKILL');
});
