/** Where the images of requests may come from, by the server's settings. */
import { realpathSync, statSync } from 'node:fs';
import type { Logger } from 'pino';
import { ImageSources } from '../../front/images/image-sources.ts';
import type { BatchService } from '../../server/batches/batch-service.ts';
import type { Options } from '../../settings/options.ts';
import { UserError } from '../../user-error.ts';

/** @throws UserError for a folder that is not there */
export function imageSources(
  {
    limitMmPerPrompt: maxImages,
    allowedMediaDomains: allowedDomains = [],
    allowedLocalMediaPath: folder,
  }: Options<'limitMmPerPrompt' | 'allowedMediaDomains' | 'allowedLocalMediaPath'>,
  batches: BatchService | undefined,
  logger: Logger,
): ImageSources {
  return new ImageSources({
    maxImages,
    allowedDomains,
    allowedLocalPath: folder === undefined ? null : realFolder(folder),
    ...(batches === undefined
      ? {}
      : {
          readUpload: (id, client, maxBytes) => batches.files.readImage(id, client, maxBytes),
        }),
    onFailedDownload: ({ message }) =>
      logger.info({ reason: message }, 'an image could not be fetched'),
  });
}

function realFolder(folder: string): string {
  try {
    if (statSync(folder).isDirectory()) return realpathSync(folder);
  } catch {
    // There is no such folder.
  }
  throw new UserError(`--allowed-local-media-path ${folder}: there is no such folder`);
}
