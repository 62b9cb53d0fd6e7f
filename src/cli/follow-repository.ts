import type { Logger } from 'pino';
import type { ModelRegistry } from '../front/registry/model-registry.ts';
import type { LoadedModel } from './model-loader.ts';
import { servedModels } from './served-models.ts';

type FollowOptions = Parameters<typeof servedModels>[0] & { readonly repositoryPollSecs: number };

/** Looks at the repository again and again, one look after the other. */
export function followRepository(
  options: FollowOptions,
  models: ModelRegistry<LoadedModel>,
  logger: Logger,
): void {
  const look = async (): Promise<void> => {
    try {
      const { definitions, aliases } = await servedModels(options, logger);
      await models.update(definitions, aliases);
    } catch (error) {
      logger.error({ err: error }, 'the model repository could not be read');
    }
    setTimeout(() => void look(), options.repositoryPollSecs * 1000).unref();
  };
  setTimeout(() => void look(), options.repositoryPollSecs * 1000).unref();
}
