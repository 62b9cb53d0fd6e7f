/** Where the schemas of what is in deploy come from: Go modules, whose hashes are pinned. */
import { join } from 'node:path';
import { defaultCacheDirectory } from '../../src/model/cache/cache-directory.ts';

export interface SchemaModule {
  readonly module: string;
  /** As Go's checksum database knows it. */
  readonly sum: string;
  readonly license: string;
  /** Within the module. */
  readonly files: readonly string[];
}

export const SCHEMA_MODULES: readonly SchemaModule[] = [
  {
    module: 'k8s.io/kubernetes@v1.34.1',
    sum: 'h1:F3p8dtpv+i8zQoebZeK5zBqM1g9x1aIdnA5vthvcuUk=',
    license: 'Apache-2.0',
    files: ['api/openapi-spec/swagger.json'],
  },
  {
    module: 'sigs.k8s.io/gateway-api@v1.4.0',
    sum: 'h1:ZwlNM6zOHq0h3WUX2gfByPs2yAEsy/EenYJB78jpQfQ=',
    license: 'Apache-2.0',
    files: ['config/crd/standard/gateway.networking.k8s.io_httproutes.yaml'],
  },
  {
    module: 'sigs.k8s.io/gateway-api-inference-extension@v1.5.0',
    sum: 'h1:w9Awt60cmI1vM7Y6N81h8wDCBP0WkmxpdI7GKY0v070=',
    license: 'Apache-2.0',
    files: [
      'config/crd/bases/inference.networking.k8s.io_inferencepools.yaml',
      // Under the group that it had before it moved to llm-d.ai.
      'config/crd/bases/inference.networking.x-k8s.io_inferenceobjectives.yaml',
    ],
  },
  {
    module: 'github.com/kedacore/keda/v2@v2.18.0',
    sum: 'h1:ttR223fii/4QJ0YvtrhcWHaEoezByb/t5CeFopjl6EI=',
    license: 'Apache-2.0',
    files: ['config/crd/bases/keda.sh_scaledobjects.yaml'],
  },
  {
    module: 'github.com/prometheus-operator/prometheus-operator@v0.85.0',
    sum: 'h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=',
    license: 'Apache-2.0',
    files: [
      'example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml',
      'example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml',
    ],
  },
  {
    module: 'github.com/kserve/kserve@v0.16.0',
    sum: 'h1:kDkcAU5VMiZf4zhdDXH+UdAIgzXhs10GMv0d9r4qvTs=',
    license: 'Apache-2.0',
    files: [
      'config/crd/full/serving.kserve.io_inferenceservices.yaml',
      'config/crd/full/serving.kserve.io_servingruntimes.yaml',
    ],
  },
  {
    module: 'knative.dev/serving@v0.51.0',
    sum: 'h1:yN2Q7eYqJgoPfZkATjoBZyGbZ2P1Qhns9HIMU4mF+to=',
    license: 'Apache-2.0',
    files: ['config/core/300-resources/service.yaml'],
  },
];

/** Where `fetch.ts` installs kustomize, where there is no kubectl, which has it in it. */
export const KUSTOMIZE = join(defaultCacheDirectory(), 'kubernetes-schemas', 'kustomize');
export const KUSTOMIZE_MODULE = 'sigs.k8s.io/kustomize/kustomize/v5@v5.7.1';

/** Schema of the files of deploy/compose. */
export const COMPOSE_SCHEMA: SchemaModule = {
  module: 'github.com/compose-spec/compose-go/v2@v2.16.2',
  sum: 'h1:pTp1DqQwJzFd85GzlWsSszKA1ABrV/ySqsClujIcWA8=',
  license: 'Apache-2.0',
  files: ['schema/compose-spec.json'],
};

/** Where `fetch.ts` puts a file. */
export function schemaPath(file: string): string {
  return join(defaultCacheDirectory(), 'kubernetes-schemas', file.replaceAll('/', '_'));
}
