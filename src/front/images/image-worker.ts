/** A thread that reads images, one after the other. */
import { ImageDecoder } from '../../images/decode.ts';
import { type ImageAnswer, type ImageJob, runImageJob } from './image-job.ts';

/** Loaded with the first image: a thread that fails before it has one is started again and again. */
let decoder: Promise<ImageDecoder> | undefined;

export default async function answer(job: ImageJob): Promise<ImageAnswer> {
  decoder ??= ImageDecoder.load();
  return await runImageJob(await decoder, job);
}
