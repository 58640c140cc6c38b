// SPDX-License-Identifier: Apache-2.0

// An OpenTelemetry Collector from Debian's packages, with the receiver and exporters that
// tests/faults/collector.sh needs, and one of its own: "lines" writes what arrives as JSON.
package main

import (
	"context"
	"log"
	"os"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/debugexporter"
	"go.opentelemetry.io/collector/exporter/otlphttpexporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

type linesConfig struct {
	Path string `mapstructure:"path"`
}

type lines struct {
	lock sync.Mutex
	file *os.File
}

func (l *lines) Start(context.Context, component.Host) error { return nil }
func (l *lines) Shutdown(context.Context) error              { return l.file.Close() }
func (l *lines) Capabilities() consumer.Capabilities         { return consumer.Capabilities{} }

func (l *lines) write(text []byte, err error) error {
	if err != nil {
		return err
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	_, err = l.file.Write(append(text, '\n'))
	return err
}

func (l *lines) ConsumeTraces(_ context.Context, t ptrace.Traces) error {
	return l.write((&ptrace.JSONMarshaler{}).MarshalTraces(t))
}

func (l *lines) ConsumeMetrics(_ context.Context, m pmetric.Metrics) error {
	return l.write((&pmetric.JSONMarshaler{}).MarshalMetrics(m))
}

func (l *lines) ConsumeLogs(_ context.Context, r plog.Logs) error {
	return l.write((&plog.JSONMarshaler{}).MarshalLogs(r))
}

func open(c component.Config) (*lines, error) {
	file, err := os.OpenFile(c.(*linesConfig).Path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	return &lines{file: file}, err
}

func factories() (otelcol.Factories, error) {
	stable := component.StabilityLevelStable
	own := exporter.NewFactory(component.MustNewType("lines"), func() component.Config { return &linesConfig{} },
		exporter.WithTraces(func(_ context.Context, _ exporter.Settings, c component.Config) (exporter.Traces, error) {
			return open(c)
		}, stable),
		exporter.WithMetrics(func(_ context.Context, _ exporter.Settings, c component.Config) (exporter.Metrics, error) {
			return open(c)
		}, stable),
		exporter.WithLogs(func(_ context.Context, _ exporter.Settings, c component.Config) (exporter.Logs, error) {
			return open(c)
		}, stable))
	otlp, debug, http := otlpreceiver.NewFactory(), debugexporter.NewFactory(), otlphttpexporter.NewFactory()
	return otelcol.Factories{
		Receivers:  map[component.Type]receiver.Factory{otlp.Type(): otlp},
		Exporters:  map[component.Type]exporter.Factory{debug.Type(): debug, http.Type(): http, own.Type(): own},
		Processors: map[component.Type]processor.Factory{},
		Telemetry:  otelconftelemetry.NewFactory(),
	}, nil
}

func main() {
	settings := otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "otelcol", Version: "debian"},
		Factories: factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			DefaultScheme:     "file",
			ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory(), yamlprovider.NewFactory()},
		}},
	}
	if err := otelcol.NewCommand(settings).Execute(); err != nil {
		log.Fatal(err)
	}
}
