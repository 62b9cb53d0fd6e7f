/** A thread that reads images, one after the other. */
import { ImageDecoder } from '../../images/decode.ts';
import { type ImageAnswer, type ImageJob, runImageJob } from './image-job.ts';

// Where this fails, so does the thread.
const decoder = await ImageDecoder.load();

export default async function answer(job: ImageJob): Promise<ImageAnswer> {
  return await runImageJob(decoder, job);
}
