/** A process that reads images, one after the other: a file may crash what decodes it. */
import { ImageDecoder } from '../../images/decode.ts';
import { serveTasks } from '../../threads/serve-tasks.ts';
import { type ImageJob, runImageJob } from './image-job.ts';

/** Loaded with the first image: why it can't be is that image's answer. */
let decoder: Promise<ImageDecoder> | undefined;

serveTasks(async (job) => {
  decoder ??= ImageDecoder.load();
  return await runImageJob(await decoder, job as ImageJob);
});
