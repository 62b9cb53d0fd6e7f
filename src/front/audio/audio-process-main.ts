/** A process that reads sound, one job after the other: a file may crash what decodes it. */
import { serveTasks } from '../../threads/serve-tasks.ts';
import { type AudioJob, runAudioJob } from './audio-job.ts';

// The decoders print a line for each fault of a file: whoever sends it would fill the log.
console.error = () => {};

serveTasks((job, send) => runAudioJob(job as AudioJob, send));
