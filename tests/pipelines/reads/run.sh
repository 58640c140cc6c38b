#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/pipelines/reads/run.sh WORKDIR - a small real pipeline: simulate reads of a random
# genome, align them, sort, call variants.  Tools from Debian: bwa, samtools (wgsim), bcftools.
set -euo pipefail
work=${1:?usage: run.sh WORKDIR}
samples=${SAMPLES:-2} pairs=${PAIRS:-20000} length=${GENOME:-400000}
mkdir -p "$work"
cd "$work"

# the same genome each time: a generator with a fixed seed
awk -v n="$length" 'BEGIN {
	srand(7); split("A C G T", base, " "); print ">chr1"
	for (i = 0; i < n; i++) { line = line base[int(rand() * 4) + 1]; if (length(line) == 60) { print line; line = "" } }
	if (line) print line
}' >ref.fa
samtools faidx ref.fa
bwa index ref.fa 2>bwa-index.log

for s in $(seq "$samples"); do
	wgsim -S "$s" -N "$pairs" -1 100 -2 100 -r 0.002 ref.fa "s$s.1.fq" "s$s.2.fq" >"s$s.truth" 2>"wgsim-$s.log"
	gzip -1 -f "s$s.1.fq" "s$s.2.fq"
	bwa mem -t 2 -R "@RG\tID:s$s\tSM:s$s" ref.fa "s$s.1.fq.gz" "s$s.2.fq.gz" 2>"bwa-$s.log" |
		samtools sort -@ 1 -m 32M -o "s$s.bam" - 2>"sort-$s.log"
	samtools index "s$s.bam"
done

bcftools mpileup -f ref.fa s*.bam 2>mpileup.log | bcftools call -mv -Oz -o calls.vcf.gz
bcftools index -f calls.vcf.gz
bcftools stats calls.vcf.gz >calls.stats
echo "variants called: $(bcftools view -H calls.vcf.gz | wc -l)"
