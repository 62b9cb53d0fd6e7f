{{- define "chairlift.metadata" -}}
name: {{ .Release.Name }}
labels:
  app.kubernetes.io/name: chairlift
{{- end -}}
