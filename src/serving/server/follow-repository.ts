import type { Logger } from 'pino';
import type { ModelRegistry } from '../../front/registry/model-registry.ts';
import type { LoadedModel } from '../loading/model-loader.ts';
import { servedModels } from './served-models.ts';

type FollowOptions = Parameters<typeof servedModels>[0] & { readonly repositoryPollSecs: number };

/** Looks at the repository again and again, one look after the other. @returns ends that */
export function followRepository(
  options: FollowOptions,
  models: ModelRegistry<LoadedModel>,
  logger: Logger,
): () => void {
  const everyMs = options.repositoryPollSecs * 1000;
  let timer: NodeJS.Timeout | null;
  const next = (): NodeJS.Timeout => setTimeout(() => void look(), everyMs).unref();
  const look = async (): Promise<void> => {
    try {
      const { definitions, aliases } = await servedModels(options, logger);
      await models.update(definitions, aliases);
    } catch (error) {
      logger.error({ err: error }, 'the model repository could not be read');
    }
    if (timer !== null) timer = next();
  };
  timer = next();
  return () => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
  };
}
