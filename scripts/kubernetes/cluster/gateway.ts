/**
 * A gateway with the endpoint picker of the Gateway API's Inference Extension: Envoy, as that extension's
 * chart for a picker without a gateway's controller configures it, and the picker, on the control machine.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { programPath } from '../programs.ts';
import { KUBECONFIG } from './control-plane.ts';
import { CONTROL_ADDRESS } from './network.ts';
import { findMachine, STATE } from './state.ts';

const PORT = 8081;
const PICKER_PORT = 9002;
const PICKER_METRICS_PORT = 9091;
/** Where clients come in. */
export const GATEWAY = `http://${CONTROL_ADDRESS}:${PORT}`;
export const PICKER_METRICS = `http://${CONTROL_ADDRESS}:${PICKER_METRICS_PORT}`;
/** Header of answers: address of the pod that Envoy sent the request to. */
export const SERVED_BY = 'x-served-by';

/** Where the picker writes the address that it picked, and Envoy reads it. */
const PICKED = 'x-gateway-destination-endpoint';

/**
 * @param config text of the picker's configuration
 * @param endpoints flags that tell the picker which pods there are
 */
export function startGateway(config: string, endpoints: readonly string[]): void {
  const control = findMachine('control');
  const pickerConfig = join(STATE, 'endpoint-picker.yaml');
  writeFileSync(pickerConfig, config);
  control.spawn(
    'epp',
    'env',
    `KUBECONFIG=${KUBECONFIG}`,
    programPath('epp'),
    `--config-file=${pickerConfig}`,
    ...endpoints,
    `--grpc-port=${PICKER_PORT}`,
    `--metrics-port=${PICKER_METRICS_PORT}`,
    '--metrics-endpoint-auth=false',
    '--refresh-prometheus-metrics-interval=200ms',
    '--tracing=false',
    '--enable-pprof=false',
  );
  const envoy = join(STATE, 'envoy.json');
  writeFileSync(envoy, JSON.stringify(envoyConfig()));
  const flags = ['--disable-hot-restart', '--concurrency', '1', '--log-level', 'warn'];
  control.spawn('envoy', programPath('envoy'), '--config-path', envoy, ...flags);
}

const extension = (path: string, config: object = {}) => ({
  '@type': `type.googleapis.com/envoy.extensions.${path}`,
  ...config,
});

function envoyConfig(): object {
  return {
    admin: { address: address('127.0.0.1', 19000) },
    static_resources: {
      listeners: [
        {
          name: 'gateway',
          address: address(CONTROL_ADDRESS, PORT),
          filter_chains: [
            {
              filters: [
                {
                  name: 'envoy.filters.network.http_connection_manager',
                  typed_config: extension(
                    'filters.network.http_connection_manager.v3.HttpConnectionManager',
                    { stat_prefix: 'gateway', route_config: routes(), http_filters: filters() },
                  ),
                },
              ],
            },
          ],
        },
      ],
      clusters: [
        {
          name: 'pool',
          type: 'ORIGINAL_DST',
          connect_timeout: '2s',
          lb_policy: 'CLUSTER_PROVIDED',
          original_dst_lb_config: { use_http_header: true, http_header_name: PICKED },
        },
        pickerCluster(),
      ],
    },
  };
}

/** The timeout is that of our HTTPRoute. */
function routes(): object {
  const route = { cluster: 'pool', timeout: '600s' };
  return {
    virtual_hosts: [
      {
        name: 'all',
        domains: ['*'],
        routes: [{ match: { prefix: '/' }, route }],
        response_headers_to_add: [
          { header: { key: SERVED_BY, value: '%UPSTREAM_REMOTE_ADDRESS%' } },
        ],
      },
    ],
  };
}

/** Every request and answer goes through the picker, which reads prompts, and usage. */
function filters(): object[] {
  return [
    {
      name: 'envoy.filters.http.ext_proc',
      typed_config: extension('filters.http.ext_proc.v3.ExternalProcessor', {
        grpc_service: { envoy_grpc: { cluster_name: 'picker' }, timeout: '10s' },
        processing_mode: {
          request_header_mode: 'SEND',
          response_header_mode: 'SEND',
          request_body_mode: 'FULL_DUPLEX_STREAMED',
          response_body_mode: 'FULL_DUPLEX_STREAMED',
          request_trailer_mode: 'SEND',
          response_trailer_mode: 'SEND',
        },
        message_timeout: '600s',
      }),
    },
    {
      name: 'envoy.filters.http.router',
      typed_config: extension('filters.http.router.v3.Router'),
    },
  ];
}

/** The picker makes a certificate of its own, which nobody checks, as in the chart. */
function pickerCluster(): object {
  const http2 = extension('upstreams.http.v3.HttpProtocolOptions', {
    explicit_http_config: { http2_protocol_options: {} },
  });
  return {
    name: 'picker',
    type: 'STATIC',
    connect_timeout: '2s',
    transport_socket: {
      name: 'envoy.transport_sockets.tls',
      typed_config: extension('transport_sockets.tls.v3.UpstreamTlsContext', {
        common_tls_context: {},
      }),
    },
    typed_extension_protocol_options: {
      'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': http2,
    },
    load_assignment: {
      cluster_name: 'picker',
      endpoints: [{ lb_endpoints: [{ endpoint: { address: address('127.0.0.1', PICKER_PORT) } }] }],
    },
  };
}

function address(ip: string, port: number): object {
  return { socket_address: { address: ip, port_value: port } };
}
