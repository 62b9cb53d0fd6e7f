/** Composes the HTTP surface. */
import { Hono, type Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { methodNotAllowed as checkMethod } from 'hono/method-not-allowed';
import { requestId } from 'hono/request-id';
import { isAnthropicPath, toAnthropicEnvelope } from './anthropic/errors.ts';
import { countTokensRoute } from './anthropic/count-tokens.ts';
import { anthropicModelRoutes } from './anthropic/models.ts';
import { MESSAGES_API } from './anthropic/messages.ts';
import { answerRoutes } from './answers/answer-route.ts';
import { acquireSpeech } from './audio/acquire-speech.ts';
import { audioRoutes } from './audio/routes.ts';
import { auth, requireAdminKey } from './auth/auth.ts';
import { batchRoutes, fileRoutes } from './batches/routes.ts';
import type { ServerContext, ServerEnv } from './context.ts';
import { adapterRoutes } from './adapters/routes.ts';
import { adminRoutes } from './admin/routes.ts';
import { sleepRoutes } from './admin/sleep-routes.ts';
import { stateRoutes } from './admin/state-routes.ts';
import { statusRoutes } from './status/routes.ts';
import { allowOrigins, refuseOtherOrigins } from './http/cors.ts';
import { badRequest, methodNotAllowed, routeNotFound, type ApiError } from './errors.ts';
import { healthRoutes } from './operating/health.ts';
import { allowHosts } from './http/hosts.ts';
import { metricsRoute } from './operating/metrics-route.ts';
import { isCoherePath, toCohereError } from './embeddings/cohere-error.ts';
import { embeddingRoutes } from './embeddings/routes.ts';
import { requestsRoutes } from './operating/requests-routes.ts';
import { INFILL_API } from './llama-server/infill.ts';
import { LLAMA_COMPLETION_API } from './llama-server/completion.ts';
import { slotActions } from './llama-server/slots.ts';
import { propsRoute } from './llama-server/props.ts';
import { modelRoutes } from './openai/models.ts';
import { isOllamaPath, toOllamaError } from './ollama/errors.ts';
import { ollamaRoutes } from './ollama/routes.ts';
import { prefetchRoutes } from './openai/prefetch.ts';
import { predictionRoutes } from './predictions/routes.ts';
import { renderRoutes } from './openai/render.ts';
import { moderationRoute } from './openai/moderations.ts';
import { COMPLETION_APIS, INVOCATIONS_API } from './openai/apis.ts';
import { documentRoutes } from './openapi/routes.ts';
import { loadReport, loadRoute } from './operating/load-report.ts';
import { stepsRoute } from './steps/steps-route.ts';
import { slotsRoute } from './operating/slots-route.ts';
import { limitRates } from './rates/limit-rates.ts';
import { uiRoutes } from './ui/routes.ts';
import { usageRoute } from './rates/usage-route.ts';
import { requestLog } from './operating/request-log.ts';
import { RESPONSES_API } from './responses/api.ts';
import { conversationRoutes } from './responses/conversation-routes.ts';
import { responseRoutes } from './responses/routes.ts';
import { kserveRoutes } from './kserve/routes.ts';
import { isKservePath, toKserveEnvelope } from './kserve/errors.ts';
import { toApiError } from './to-api-error.ts';
import { tokenizeRoutes } from './tokenize.ts';

/** APIs that generate. */
const ANSWER_APIS = [
  ...COMPLETION_APIS,
  INVOCATIONS_API,
  LLAMA_COMPLETION_API,
  INFILL_API,
  RESPONSES_API,
  MESSAGES_API,
];

/**
 * Needs Node's request and response: serve it with `listen`.
 * @param options hasMetrics: unless another port has them
 */
export function createApp(
  context: ServerContext,
  options: { readonly hasMetrics?: boolean } = {},
): Hono<ServerEnv> {
  const app = new Hono<ServerEnv>();
  app.use(requestId());
  app.use(requestLog(context));
  app.use(allowHosts(context));
  app.use(refuseOtherOrigins(context));
  if (context.config.corsOrigins.length > 0) app.use(allowOrigins(context.config));
  app.use(async (c, next) => {
    // Closes the client's connection once it has its answer: its next request goes to another replica, before
    // this one refuses it.
    if (context.isLeaving()) c.header('connection', 'close');
    await next();
  });
  app.use(auth(context));
  app.use(limitRates(context));
  app.use(loadReport(context));
  app.use(
    checkMethod({
      app,
      onMethodNotAllowed: (c, methods) =>
        toResponse(c, methodNotAllowed(c.req.method, c.req.path, methods.join(', '))),
    }),
  );
  healthRoutes(app, context);
  if (options.hasMetrics !== false) {
    // The operator's alone where the server has an admin key.
    app.use('/metrics', requireAdminKey(context));
    metricsRoute(app, context);
  }
  loadRoute(app, context);
  requestsRoutes(app, context);
  usageRoute(app, context);
  anthropicModelRoutes(app, context);
  modelRoutes(app, context);
  adminRoutes(app, context);
  sleepRoutes(app, context);
  stateRoutes(app, context);
  statusRoutes(app, context);
  slotsRoute(app, context);
  slotActions(app, context);
  propsRoute(app, context);
  stepsRoute(app, context);
  adapterRoutes(app, context);
  answerRoutes(app, context, ANSWER_APIS);
  responseRoutes(app, context);
  conversationRoutes(app, context);
  moderationRoute(app);
  audioRoutes(app, context, { pool: context.audio, acquire: acquireSpeech(context) });
  countTokensRoute(app, context);
  embeddingRoutes(app, context);
  predictionRoutes(app, context);
  fileRoutes(app, context);
  batchRoutes(app, context);
  ollamaRoutes(app, context);
  renderRoutes(app, context);
  prefetchRoutes(app, context);
  tokenizeRoutes(app, context);
  kserveRoutes(app, context);
  documentRoutes(app, context);
  uiRoutes(app, context);
  app.notFound((c) => {
    const { method, path } = c.req;
    return toResponse(c, routeNotFound(method, path, nearRoute(app, method, path)));
  });
  app.onError((error, c) => {
    // The client is gone; no answer can reach it.
    if (c.req.raw.signal.aborted) return c.body(null, 408);
    if (error instanceof HTTPException) return toResponse(c, badRequest(error.message));
    return toResponse(c, toApiError(error, context.logger));
  });
  return app;
}

/** The same path with `/v1` once, where there is such a route: base URLs lack it, or have it twice. */
function nearRoute(app: Hono<ServerEnv>, method: string, path: string): string | null {
  const near = path.startsWith('/v1/v1/') ? path.slice(3) : `/v1${path}`;
  const isThere = app.routes.some((route) => route.method === method && route.path === near);
  return isThere ? near : null;
}

/** Keeps the headers that middlewares have set. */
function toResponse(c: Context<ServerEnv>, error: ApiError): Response {
  if (error.code !== null) c.set('errorCode', error.code);
  return c.json(toBody(c, error), error.status, error.headers);
}

function toBody(c: Context<ServerEnv>, error: ApiError): object {
  const path = c.get('apiPath') ?? c.req.path;
  if (isAnthropicPath(path)) return toAnthropicEnvelope(error, c.get('requestId'));
  if (isCoherePath(path)) return toCohereError(error, c.get('requestId'));
  if (isKservePath(path)) return toKserveEnvelope(error);
  return isOllamaPath(path) ? toOllamaError(error) : error.toEnvelope();
}
