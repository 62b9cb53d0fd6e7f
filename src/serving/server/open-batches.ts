import { requestsInEngine } from '../../front/queue/admission.ts';
import type { ServiceClass } from '../../front/service-classes/service-class.ts';
import { BatchService } from '../../server/batches/batch-service.ts';
import { UserError } from '../../user-error.ts';
import type { Options } from '../../settings/options.ts';
import { reasonOf } from '../../files/system-error.ts';

/** Lines that wait for a place, so that one is there when it is free. */
const LOOKAHEAD = 4;

/**
 * Opens the files and batches that an earlier process left; undefined without --batch-dir.
 * @param last the class that lines are of
 * @throws UserError
 */
export async function openBatches(
  {
    batchDir: folder,
    batchDisk: maxBytes,
    maxNumSeqs,
    instances,
  }: Options<'batchDir' | 'batchDisk' | 'maxNumSeqs' | 'instances'>,
  { share }: ServiceClass,
): Promise<BatchService | undefined> {
  if (folder === undefined) return undefined;
  const maxInFlight = linesInFlight(requestsInEngine(maxNumSeqs) * instances, share);
  try {
    return await BatchService.open({ folder, maxBytes, maxInFlight });
  } catch (error) {
    throw new UserError(`--batch-dir ${folder}: ${reasonOf(error)}`, { cause: error });
  }
}

/** @param concurrency places of the engine */
export function linesInFlight(concurrency: number, share: number): number {
  return Math.max(1, Math.floor(concurrency * share)) + LOOKAHEAD;
}
